"""The bundled English patterns on sentences of our own, in both ways of cutting words."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import tokenize
from roster.distant.matching import patterns
from roster.distant.matching.mention import Mention
from roster.distant.matching.patterns import PatternMatcher, builtin_patterns
from roster.errors import ConfigError

LABELS = ["DATE", "TIME", "MONEY", "PERCENT", "QUANTITY", "ORDINAL", "CARDINAL", "ORG", "PERSON"]
BUNDLED = Path(patterns.__file__).with_name("patterns_en.toml")

# name of a pattern: (words in which the part in brackets is found, words in which nothing is)
EXAMPLES: dict[str, tuple[list[str], list[str]]] = {
    "calendar": (
        [
            "they met on [Monday] again",
            "on [Tuesday , March 3 , 1998] it rained",
            "born [12 June 1871] in a barn",
            "by [the end of 2004] it was gone",
            "[Oct. 4] was cold",
            "in [early January] the lake froze",
            "from [1914 to 1918]",
            "the [1997-98] season",
            "[between 1850 and 1870] nothing grew",
            "since [February of last year]",
            "the crop of [fiscal 1991]",
            "in [44 B.C.] he fell",
            "due [2019-05-31] at the desk",
            "on [Christmas Eve]",
            "on [September 14th]",
            "a [mid-October] sale",
        ],
        ["you may march now", "room 404", "the sunday school", "the 3000 sheep"],
    ),
    "may": (["it opened in [May] again", "since [early May] rain fell"], ["May I ask", "they may go in"]),
    "decade": (
        ["music of [the 1960s]", "in [the early '80s]", "[the 19th century]", "[the thirties]"],
        ["he is thirty", "the 19th hole"],
    ),
    "relative-date": (
        [
            "it closed [yesterday]",
            "sales rose [last year]",
            "over [the past three years]",
            "[earlier this month] they left",
            "at [the end of the year]",
            "for [the same period last year]",
            "[the second day] was dull",
            "[last August] they wed",
            "in [recent weeks]",
        ],
        ["the past is gone", "at last they came", "this is a week point"],
    ),
    "duration": (
        [
            "they walked [three weeks]",
            "[about 20 years ago] it burned",
            "a boy [six years old]",
            "wait [several days]",
            "[the first two months]",
            "[two to three weeks]",
            "[one year later] he won",
        ],
        ["three weekly papers", "years"],
    ),
    "duration-adjective": (
        [
            "a [five - year] plan",
            "a [five-year] plan",
            "the [18-month-old] calf",
            "a [fourteen year old] boy",
        ],
        ["year-round work", "a two - seat car"],
    ),
    "quarter": (
        ["in [the third quarter]", "[third-quarter] profit", "[the first quarter of 1999]"],
        ["a quarter of it"],
    ),
    "frequency": (["the [monthly] bill"], ["the month"]),
    "age": (["at [the age of 45]", "a man [aged 30]"], ["the age of steam", "age well"]),
    "age-after-name": (["Jane Roe , [45] , said so"], ["the sum , 45 , fell", "Jane Roe , 145 , said"]),
    "day-of-month": (["we meet on [the 15th] at ten"], ["he was the 15th in line"]),
    "clock": (
        [
            "at [9:30 a.m.] sharp",
            "at [9:30am] sharp",
            "[5 o'clock]",
            "[5 o ' clock]",
            "at [noon] today",
            "[7 to 9 p.m.]",
            "[about 4 p.m. EST]",
        ],
        ["a ratio of 3", "I am 9", "he scored 99:99"],
    ),
    "part-of-day": (
        ["[tonight] it snows", "[late Friday night]", "[the next morning]"],
        ["a night owl", "evening gowns"],
    ),
    "hours": (
        [
            "[three hours] of talk",
            "a [20-minute] walk",
            "[half an hour]",
            "[a few minutes later]",
            "[2 minutes and 12.5 seconds]",
        ],
        ["the second time", "an hourly wage", "a second chance"],
    ),
    "money": (
        [
            "pays [$ 5 million] more",
            "pays [$5 million] more",
            "pays [$5] more",
            "[about $ 20,000]",
            "[20 to 30 cents] a share",
            "[3.2 billion yuan]",
            "[millions of dollars]",
            "[US$ 4.50]",
            "[€1,200]",
            "[between $ 10 and $ 12]",
            "a [ten-dollar] bill",
            "A [$ 5] bill",
            "[US$5m] or so",
            "a loan of [£3bn]",
        ],
        ["the dollar fell", "$ sign", "five miles", "three won medals"],
    ),
    "percent": (
        [
            "rose [10 %] more",
            "rose [10%] more",
            "[ten percent] of it",
            "[more than 3.5 per cent]",
            "[5 % to 7 %]",
            "[10-12%]",
            "[0.4 percentage points]",
            "[between 3 % and 4 %]",
        ],
        ["a percentage", "% of all", "10 points"],
    ),
    "quantity": (
        [
            "[20 miles] north",
            "[about 3,000 square feet]",
            "a [five-acre] farm",
            "[80 kilometers per hour]",
            "[5km] away",
            "[5 km] away",
            "[thousands of tons] of ore",
            "[a hundred and five degrees]",
        ],
        ["on foot", "a bit much", "Anton is here", "twenty pages"],
    ),
    "ordinal": (
        ["the [first] man", "his [21st] win", "[Secondly] , no", "the [twenty - third] psalm"],
        ["at first we ran", "First Street", "the last man"],
    ),
    "cardinal": (
        [
            "[two] men",
            "[1,200] sheep",
            "[more than 300] boats",
            "[One] of them",
            "[twenty - five] eggs",
            "[hundreds] of geese",
            "[3.5 million] bees",
            "[two - thirds] of it",
            "[a dozen] eggs",
        ],
        ["no one came", "this one is mine", "an F - 16 jet", "call 555-0199", "page 12", "someone"],
    ),
    "company": (
        [
            "shares of [Acme Widgets Inc.] fell",
            "[Roe & Daughters Ltd] sells",
            "at [Muster GmbH]",
            "[Alpha , Beta & Co.]",
            "[Roe Inc] .",
        ],
        ["Inc. magazine", "the co. was sold", "an ag fair"],
    ),
    "university": (
        ["[the University of Elsewhere]", "at [Elm Hill College]"],
        ["a university town", "College is hard"],
    ),
    "person-after-title": (
        [
            "said Mr. [Roe] today",
            "Dr [Jane Q. Roe] spoke",
            "president [Ana Roe - Doe] left",
            "Secretary General [Vila] said",
            "Mrs. [Ilse van der Poel]",
        ],
        ["Mr. x", "the president said", "Justice Department"],
    ),
}


def bracketed(example: str) -> tuple[Sentence, tuple[int, int]]:
    """The words of an example without its brackets, and what they enclose."""
    before, _, rest = example.partition("[")
    inside, _, after = rest.partition("]")
    start, length = len(before.split()), len(inside.split())
    return Sentence.from_words([*before.split(), *inside.split(), *after.split()]), (start, start + length)


def winners(mentions: list[Mention]) -> list[Mention]:
    """Longest first, then priority: how the patterns are meant to be read together."""
    taken: list[Mention] = []
    for m in sorted(mentions, key=lambda m: (m.start - m.end, -m.priority, m.start)):
        if all(m.end <= t.start or t.end <= m.start for t in taken):
            taken.append(m)
    return sorted(taken, key=lambda m: m.start)


def test_every_bundled_pattern_has_examples() -> None:
    assert list(EXAMPLES) == [p.name for p in builtin_patterns(LABELS)]


@pytest.mark.parametrize(("name", "example"), [(n, e) for n, (found, _) in EXAMPLES.items() for e in found])
def test_found(name: str, example: str) -> None:
    sentence, span = bracketed(example)
    found = PatternMatcher(builtin_patterns([name])).mentions(sentence)
    assert [(m.start, m.end) for m in found] == [span]


@pytest.mark.parametrize(("name", "example"), [(n, e) for n, (_, no) in EXAMPLES.items() for e in no])
def test_not_found(name: str, example: str) -> None:
    assert PatternMatcher(builtin_patterns([name])).mentions(Sentence.from_words(example.split())) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In 1998 , two men paid $ 5 million", [(1, 2, "DATE"), (3, 4, "CARDINAL"), (6, 9, "MONEY")]),
        ("up 3 % in the third quarter", [(1, 3, "PERCENT"), (4, 7, "DATE")]),
        ("first 20 miles in three hours", [(0, 1, "ORDINAL"), (1, 3, "QUANTITY"), (4, 6, "TIME")]),
        ("Dr. Roe of Acme Inc. left at 5 p.m.", [(1, 2, "PERSON"), (3, 5, "ORG"), (7, 9, "TIME")]),
    ],
)
def test_the_longest_of_all_types(text: str, expected: list[tuple[int, int, str]]) -> None:
    found = winners(PatternMatcher(builtin_patterns(LABELS)).mentions(Sentence.from_words(text.split())))
    assert [(m.start, m.end, m.label) for m in found] == expected


def test_words_of_our_own_tokenizer() -> None:
    text = "Dr. Roe, 45, paid $5m (up 10%) to Acme Inc. on Sept. 5, 1999, at 9:30 a.m. for a five-acre farm."
    offsets = tokenize(text)
    sentence = Sentence(tuple(text[a:b] for a, b in offsets), tuple(offsets), text)
    found = winners(PatternMatcher(builtin_patterns(LABELS)).mentions(sentence))
    assert [(sentence.span_text(Span(m.start, m.end, m.label)), m.label) for m in found] == [
        ("Roe", "PERSON"),
        ("45", "DATE"),
        ("$5m", "MONEY"),
        ("10%", "PERCENT"),
        ("Acme Inc.", "ORG"),
        ("Sept. 5, 1999", "DATE"),
        ("9:30 a.m.", "TIME"),
        ("five-acre", "QUANTITY"),
    ]


def test_provenance_and_other_labels() -> None:
    picked = builtin_patterns(["PERSON", "company"], labels={"PERSON": "PER"})
    found = PatternMatcher(picked).mentions(Sentence.from_words(["Mr.", "Roe", "runs", "Acme", "Inc."]))
    assert found == [
        Mention(1, 2, "PER", "PERSON", "patterns", "person-after-title", priority=2),
        Mention(3, 5, "ORG", "ORG", "patterns", "company", priority=2),
    ]


def test_a_name_goes_before_a_label_and_nothing_comes_twice() -> None:
    picked = builtin_patterns(["age", "DATE"], labels={"DATE": "WHEN", "age": "AGE"})
    assert [p.label for p in picked if p.name == "age"] == ["AGE"]
    assert {p.label for p in picked if p.name != "age"} == {"WHEN"}
    assert builtin_patterns([]) == []


@pytest.mark.parametrize(
    ("names", "labels", "message"),
    [
        (
            ["DATES"],
            {},
            r"no built-in pattern has the label or the name 'DATES'; there are DATE: calendar, may",
        ),
        (["DATE"], {"PER": "X"}, "the label or the name 'PER'"),
        (["DATE"], {"DATE": ""}, "the label for the built-in pattern 'DATE' must be a string"),
    ],
)
def test_unknown_names(names: list[str], labels: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        builtin_patterns(names, labels=labels)


def test_the_bundled_file_is_what_a_user_could_write() -> None:
    tables = tomllib.loads(BUNDLED.read_text(encoding="utf-8"))
    loaded = patterns.load_patterns(tables["patterns"], origin="copy.toml")
    assert [p.name for p in loaded] == list(EXAMPLES)
    assert {p.source for p in loaded} == {"copy.toml"}
