"""The words of a language by which candidates for names begin and end, with those of English."""

from __future__ import annotations

from dataclasses import dataclass, fields

from roster.errors import ConfigError


@dataclass(frozen=True)
class CandidateRules:
    """The words of a language that decide where a name begins and ends, single words in lower case.

    `function_words` begin sentences with a capital that means nothing, and no name consists of them alone;
    `connectors` join names that stand on both sides of them, one or two in a row ("Bank of England",
    "Maria de la Cruz"); `articles` join only right after a connector ("Bank of the West"); `titles` stand
    before names and may belong to them or not ("King Lear", "General Motors"); `clitics` are parts of words
    that the tokenizer cut off, and end a name in whatever case they are written.
    """

    function_words: frozenset[str] = frozenset()
    connectors: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    titles: frozenset[str] = frozenset()
    clitics: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for field in fields(self):
            for word in getattr(self, field.name):
                if not word or word != word.lower() or word.split() != [word]:
                    raise ConfigError(
                        f"candidate rules, {field.name}: expected single words in lower case, got {word!r}"
                    )


def word_set(text: str) -> frozenset[str]:
    """The words of a text that white space separates."""
    return frozenset(text.split())


ENGLISH_CANDIDATES = CandidateRules(
    # "us" is not here: in capitals it is a country far more often.
    function_words=word_set(
        """
        a an the this that these those such same other others another each every either neither both all any
        some no none many much most more few fewer several half one two three four five six seven eight nine
        ten
        i me my mine myself you your yours he him his himself she her hers herself it its itself we our ours
        they them their theirs themselves who whom whose which what whatever whoever someone something
        somebody anyone anything anybody everyone everything everybody nobody nothing
        about above according across after against along alongside although among amid amongst and around as
        asked at barring based because before behind below beneath beside besides between beyond but by
        compared concerning considering current despite down due during except following for from given if
        in including inside instead into lest like near nor of off on once onto opposite or out outside over
        owing past per plus provided rather regarding since so than though through throughout till to toward
        towards under underneath unless unlike until up upon versus via vs vs. when whenever where whereas
        wherever whether while whilst with within without yet
        am is are was were be been being do does did done doing have has had having can cannot could may
        might must shall should will would let lets get gets got make makes made take takes say says said
        see sees go goes come comes
        afterwards again ago almost already also altogether always apart apparently approximately away back
        certainly clearly currently earlier else especially essentially even eventually ever exactly finally
        first firstly second secondly third formerly former fortunately frequently further furthermore
        generally hence here historically hopefully how however immediately indeed initially just largely
        last lastly late later least less likewise long mainly maybe meanwhile moreover mostly nearly never
        nevertheless next nonetheless normally not now nowadays occasionally often only originally otherwise
        overall partly perhaps possibly presumably previously prior primarily probably quite rarely really
        recently regardless reportedly roughly separately shortly similarly sometimes somewhat soon still
        subsequently suddenly then there thereafter therefore thereby thus today together tomorrow tonight
        too traditionally typically ultimately unfortunately usually very well why yesterday please thanks
        yes
        i'm i've i'd i'll you're you've you'd you'll he'd he'll he's she'd she'll she's it'd it'll it's
        we're we've we'd we'll they're they've they'd they'll that's that'll there's there'll here's what's
        who's where's how's let's isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't
        can't couldn't won't wouldn't shouldn't mustn't mightn't needn't shan't ain't
        """
    ),
    # Neither "and" nor "-" is here: between names they part two more often than they join one.
    connectors=word_set(
        "of de del della di da do dos das du des la le las los van von der den zu zur bin ibn al el &"
    ),
    articles=word_set("the"),
    titles=word_set(
        """
        mr mr. mrs mrs. ms ms. miss dr dr. doctor prof prof. professor sir dame lord lady madam baron
        baroness count countess duke duchess king queen prince princess emperor empress sheikh
        president vice-president chancellor premier minister secretary secretary-general senator sen.
        congressman congresswoman representative rep. governor gov. mayor ambassador commissioner speaker
        judge justice
        sheriff chairman chairwoman director manager coach captain capt. major maj. colonel col. lieutenant
        lt. sergeant sgt. general gen. admiral adm. commander marshal
        pope cardinal archbishop bishop patriarch father rev. reverend saint rabbi imam ayatollah
        """
    ),
    clitics=word_set("'s 'm 're 've 'd 'll n't"),
)
