"""What becomes a label: names as people write them, policies of each type, patterns, conflicts, workers."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.distant.labelling.chunk_labeller import ChunkLabeller, Labelled
from roster.distant.labelling.labeller import Labeller
from roster.distant.output.report import Report
from roster.distant.settings import load_settings
from roster.errors import DataError

Found = list[tuple[str, str]]
Find = Callable[..., Found]


def documents(texts: Iterable[str]) -> list[Sentence]:
    return [s for number, text in enumerate(texts, 1) for s in split(text, str(number))]


def named(sentences: Iterable[Sentence]) -> Found:
    return [(s.span_text(x), x.label) for s in sentences for x in s.spans or ()]


@pytest.fixture
def labeller(tmp_path: Path) -> Callable[..., Labeller]:
    """Ready to label a corpus: `labeller(sentences, {"Ada": "PER"}, policy=...)`.

    Names may have several types; `config` is the text of a TOML file.
    """

    def make(
        corpus: Sequence[Sentence],
        names: Mapping[str, str | Sequence[str]] | None = None,
        config: str = "",
        **options: Any,
    ) -> Labeller:
        rows = [(n, t) for n, ts in (names or {}).items() for t in ([ts] if isinstance(ts, str) else ts)]
        (tmp_path / "names.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in rows), encoding="utf-8")
        (tmp_path / "label.toml").write_text(config, encoding="utf-8")
        if names and "dictionaries" not in options:
            options = {"dictionaries": [tmp_path / "names.tsv"], "format": "tsv", **options}
        settings = load_settings(tmp_path / "label.toml", **options)
        made = Labeller(settings)
        made.prepare(lambda: corpus)
        return made

    return make


@pytest.fixture
def find(labeller: Callable[..., Labeller]) -> Find:
    """(text, label) of all labels in some texts, each of them a document."""

    def run(names: Any, *texts: str, **options: Any) -> Found:
        sentences = documents(texts)
        return named(one.sentence for one in labeller(sentences, names, **options).label(sentences))

    return run


# Case


FRUIT = ("We ate an apple and another apple.", "An apple a day.")


def test_smart_case_finds_a_company_and_no_fruit(find: Find) -> None:
    assert find({"Apple": "ORG"}, *FRUIT, "She works for Apple now.") == [("Apple", "ORG")]


def test_smart_case_at_the_beginning_of_a_sentence(find: Find) -> None:
    """A capital that any word has there says nothing of a word that is mostly written small."""
    assert find({"Apple": "ORG"}, *FRUIT, "Apple falls from the tree.") == []
    assert (
        find({"Apple": "ORG"}, "Apple falls.", "I like Apple.", "She left Apple.") == [("Apple", "ORG")] * 3
    )


def test_smart_case_and_acronyms(find: Find) -> None:
    assert find({"It": "FILM"}, "The IT people saw nothing.") == []
    assert find({"AIDS": "DISEASE"}, "It aids nobody.", "He had AIDS then.") == [("AIDS", "DISEASE")]


def test_smart_case_in_capitals(find: Find) -> None:
    assert find({"Lisbon": "LOC"}, "They sailed to LISBON today.") == [("LISBON", "LOC")]
    assert find({"LISBON": "LOC"}, "They sailed to Lisbon today.") == [("Lisbon", "LOC")]


CASED = tuple(
    f"they met {name} there" for name in ("delta mills", "Delta Mills", "DELTA MILLS", "dElta mIlls")
)


@pytest.mark.parametrize(
    ("case", "found"),
    [
        ("exact", [1]),
        ("upper", [1, 2]),
        ("smart", [1, 2, 3]),
        ("insensitive", [0, 1, 2, 3]),
    ],
)
def test_each_case_policy(case: str, found: list[int], find: Find) -> None:
    wanted = [(CASED[i].removeprefix("they met ").removesuffix(" there"), "ORG") for i in found]
    assert find({"Delta Mills": "ORG"}, *CASED, policy={"case": case}) == wanted


def test_names_that_are_listed_small(find: Find) -> None:
    text = "Asthma is common. The asthma of the boy got worse."
    assert find({"asthma": "DISEASE"}, text, policy={"case": "insensitive"}) == [
        ("Asthma", "DISEASE"),
        ("asthma", "DISEASE"),
    ]
    assert find({"asthma": "DISEASE"}, text, policy={"case": "exact"}) == [("asthma", "DISEASE")]


def test_a_part_of_a_longer_name(find: Find) -> None:
    names, text = {"Lund": "LOC"}, "He met Maria Lund in Lund."
    assert find(names, text) == [("Lund", "LOC")]
    assert find(names, text, policy={"whole": False}) == [("Lund", "LOC")] * 2
    assert find({**names, "Maria Lund": "PER"}, text) == [("Maria Lund", "PER"), ("Lund", "LOC")]


@pytest.mark.parametrize(
    "name",
    [
        *("Orbit 11", "Channel 4", "Romeo and Juliet", "Treaty on the Sea", "Ludwig van Aalst", "bin Haddad"),
        *("Journal of Plant biology", "vitamin C", "Toys R Us", "Mills & Sons", "7-Oaks", "eBoat", "Yippee!"),
        *("Louis XIV", "Mr. Pym", "Saint-Orme", "B-99", "3Q", "O'Hara"),
    ],
)
def test_a_name_with_more_in_it_than_capitals(name: str, find: Find) -> None:
    """It is no part of a longer name, whatever its own first and last words look like."""
    ((found, label),) = find({name: "X"}, f"and then they spoke of {name} again")
    assert (found.strip("!"), label) == (name.strip("!"), "X")


# Borders of names


@pytest.mark.parametrize("listed", ["Acme Corp.", "Acme Corp"])
@pytest.mark.parametrize(
    "text",
    ["They own Acme Corp. today.", "They own Acme Corp today.", "They own Acme Corp.", "(Acme Corp) lost."],
)
def test_the_period_of_an_abbreviation(listed: str, text: str, find: Find) -> None:
    ((found, label),) = find({listed: "ORG"}, text)
    assert (found.rstrip("."), label) == ("Acme Corp", "ORG")


@pytest.mark.parametrize(
    "words", [["(Acme)"], ["“Acme”"], ["Acme,"], ["Acme's"], ["Acme’s"], ["-Acme-"], ["Acme", "'s"], ["Acme"]]
)
def test_what_clings_to_a_name(words: list[str], labeller: Any) -> None:
    """Whatever tokenizer made the words."""
    sentence = Sentence.from_words(["They", "like", *words, "today"])
    (one,) = labeller([sentence], {"Acme": "ORG"}).label([sentence])
    assert one.sentence.spans == (Span(2, 3, "ORG"),)


@pytest.mark.parametrize("word", ["Acmes", "MacAcme", "Acme-like", "Acme2", "un-Acme"])
def test_what_is_another_word(word: str, labeller: Any) -> None:
    sentence = Sentence.from_words(["They", "like", word, "today"])
    (one,) = labeller([sentence], {"Acme": "ORG"}, policy={"case": "insensitive"}).label([sentence])
    assert one.sentence.spans == ()


def test_edges_and_possessives_can_be_switched_off(labeller: Any) -> None:
    words = Sentence.from_words(["x", "(Acme)", "x", "Acme's", "x", "Acme", "x"])
    for policy, wanted in (
        ({"edges": False}, [3, 5]),
        ({"possessive": False}, [1, 5]),
        ({"edges": False, "possessive": False}, [5]),
    ):
        (one,) = labeller([words], {"Acme": "ORG"}, policy=policy).label([words])
        assert [x.start for x in one.sentence.spans] == wanted


def test_plurals(find: Find) -> None:
    text = "Two lung tumours and one lung tumour, biopsies and a biopsy."
    names = {"lung tumour": "DISEASE", "biopsy": "TEST"}
    exact = {"case": "insensitive"}
    assert [x for x, _ in find(names, text, policy=exact)] == ["lung tumour", "biopsy"]
    assert [x for x, _ in find(names, text, policy={**exact, "plural": True})] == [
        "lung tumours",
        "lung tumour",
        "biopsies",
        "biopsy",
    ]


# Unicode


@pytest.mark.parametrize(
    ("listed", "written"),
    [
        (unicodedata.normalize("NFC", "Zoë Núñez"), unicodedata.normalize("NFD", "Zoë Núñez")),
        (unicodedata.normalize("NFD", "Zoë Núñez"), unicodedata.normalize("NFC", "Zoë Núñez")),
        ("Griffin Office", "Gri\ufb03n Of\ufb01ce"),
        ("Gri\ufb03n", "Griffin"),
        ("Orbit", "Ｏｒｂｉｔ"),
        ("Ｏｒｂｉｔ", "Orbit"),
        ("Straße", "Straße"),
        ("İzmir", "İzmir"),
        ("Gdańsk", "GDAŃSK"),
        ("Ὀδυσσεύς", "ὈΔΥΣΣΕΎΣ"),
        ("Львів", "Львів"),
        ("Զոհրապ", "ԶՈՀՐԱՊ"),
    ],
)
def test_spellings_of_one_name(listed: str, written: str, find: Find) -> None:
    assert find({listed: "X"}, f"we saw {written} there") == [(written, "X")]


def test_accents_are_kept_apart_unless_asked(find: Find) -> None:
    text = "we asked Nunez and Núñez there"
    assert find({"Núñez": "PER"}, text) == [("Núñez", "PER")]
    assert find({"Núñez": "PER"}, text, policy={"unicode": "accents"}) == [("Nunez", "PER"), ("Núñez", "PER")]
    config = '[types.PER]\nunicode = "accents"\n'
    both = {"Núñez": "PER", "Málaga": "LOC"}
    assert find(both, "we asked Nunez in Malaga and in Málaga there", config=config) == [
        ("Nunez", "PER"),
        ("Málaga", "LOC"),
    ]


def test_no_normal_form_at_all(find: Find) -> None:
    apart = unicodedata.normalize("NFD", "Zoë")
    text = f"we saw Zoë and {apart} there"
    assert find({"Zoë": "PER"}, text, policy={"unicode": "none"}) == [("Zoë", "PER")]
    assert find({"Zoë": "PER"}, text) == [("Zoë", "PER"), (apart, "PER")]


@pytest.mark.parametrize("case", ["smart", "exact", "upper", "insensitive"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("王小明", "昨天王小明去了北京。"),
        ("さくら銀行", "昨日、さくら銀行が開いた。"),
        ("ليلى حداد", "قالت ليلى حداد إنها سعيدة."),
        ("דנה לוי", "אתמול דנה לוי נסעה."),
        ("กรุงเทพ", "เขาไปกรุงเทพเมื่อวาน"),
        ("김민준", "어제 김민준 갔다."),
        ("अनीता राव", "कल अनीता राव आई।"),
    ],
)
def test_scripts_without_capitals(case: str, name: str, text: str, find: Find) -> None:
    assert find({name: "PER"}, text, policy={"case": case}) == [(name, "PER")]


def test_emoji(find: Find) -> None:
    assert find({"Acme": "ORG"}, "🎉 we love Acme🎉 and 👩‍🚀 Acme 🚀 too") == [("Acme", "ORG")] * 2
    assert find({"Acme 🚀": "SHOP", "Acme": "ORG"}, "we love Acme 🚀 and Acme too") == [
        ("Acme 🚀", "SHOP"),
        ("Acme", "ORG"),
    ]


# Policies of each type


def test_policies_for_each_type(find: Find) -> None:
    config = """
[defaults]
case = "exact"
[types.DISEASE]
case = "insensitive"
[types.TEAM]
min_words = 2
"""
    names = {"gout": "DISEASE", "Rover": "DOG", "Rovers": "TEAM", "City Rovers": "TEAM"}
    text = "GOUT and Gout; a rover and a Rover; the Rovers beat City Rovers."
    assert find(names, text, config=config) == [
        ("GOUT", "DISEASE"),
        ("Gout", "DISEASE"),
        ("Rover", "DOG"),
        ("City Rovers", "TEAM"),
    ]


def test_allow_and_deny(find: Find) -> None:
    config = '[types.ORG]\nallow = ["The Who", "IT", "Bolt"]\ndeny = ["Target"]\n'
    text = "We saw The Who at TARGET and Target; the IT of Bolt is old. It rained, a bolt broke. who?"
    assert find({"Target": "ORG", "The Who": "ORG"}, text, config=config) == [
        ("The Who", "ORG"),
        ("IT", "ORG"),
        ("Bolt", "ORG"),
    ]


def test_deny_is_for_its_type_only(find: Find) -> None:
    config = '[types.PER]\ndeny = ["rose"]\n'
    text = "We met Rose today."
    assert find({"Rose": "PER"}, text, config=config) == []
    assert find({"Rose": ["PER", "FLOWER"]}, text, config=config) == [("Rose", "FLOWER")]


def test_labels_by_pattern(find: Find) -> None:
    names = {"Acme": "ORG.firm", "The Cats": "ORG.band", "Casablanca": "MISC.film", "Oslo": "LOC"}
    text = "They met Acme, then The Cats, saw Casablanca, and left for Oslo."
    labels = {"ORG.*": "ORG", "ORG.band": "BAND", "MISC.*": ""}
    assert find(names, text, labels=labels) == [("Acme", "ORG"), ("The Cats", "BAND"), ("Oslo", "LOC")]


# Patterns, conflicts


def test_patterns_of_ones_own(find: Find) -> None:
    config = """
[[patterns]]
name = "flight"
label = "FLIGHT"
regex = "(?:flight|Flight) ([A-Z]{2} ?[0-9]{2,4})"
group = 1
[[patterns]]
name = "gate"
label = "GATE"
tokens = [{ LOWER = "gate" }, { IS_DIGIT = true }]
"""
    text = "Flight ZX 204 left from Gate 12, not from gate B."
    assert find(None, text, config=config) == [("ZX 204", "FLIGHT"), ("Gate 12", "GATE")]


def test_bundled_patterns_beside_a_dictionary(find: Find) -> None:
    text = "Ada paid $5 million on 3 May 2021."
    assert find({"Ada": "PER"}, text, builtin=["MONEY", "DATE"]) == [
        ("Ada", "PER"),
        ("$5 million", "MONEY"),
        ("3 May 2021", "DATE"),
    ]


def test_a_pattern_of_higher_priority_wins(find: Find) -> None:
    pattern = '[[patterns]]\nname = "code"\nlabel = "CODE"\nregex = "Oslo"\npriority = {}\n'
    text = "They met in Oslo today."
    assert find({"Oslo": "LOC"}, text, config=pattern.format(1)) == [("Oslo", "CODE")]
    assert find({"Oslo": "LOC"}, text, config=pattern.format(-1)) == [("Oslo", "LOC")]
    assert find({"Oslo": "LOC"}, text, config=pattern.format(0)) == []


AMBIGUOUS = {"Lund": ["PER", "LOC"], "Maria Lund": "PER"}


@pytest.mark.parametrize(
    ("ambiguous", "found"),
    [
        ("drop", [("Maria Lund", "PER")]),
        ("all", [("Maria Lund", "PER"), ("Lund", "LOC,PER"), ("Lund", "LOC,PER")]),
        ("first", [("Maria Lund", "PER"), ("Lund", "LOC"), ("Lund", "LOC")]),
        ("document", [("Maria Lund", "PER"), ("Lund", "PER")]),
    ],
)
def test_names_with_several_types(ambiguous: str, found: Found, find: Find) -> None:
    """The second document has nothing that speaks for a type."""
    texts = ("Maria Lund spoke. Then Lund left.", "They went to Lund by train.")
    assert find(AMBIGUOUS, *texts, conflicts={"ambiguous": ambiguous}) == found


@pytest.mark.parametrize(("overlap", "found"), [("longest", ["b c d e"]), ("squares", ["a b c", "e f g"])])
def test_overlaps(overlap: str, found: list[str], find: Find) -> None:
    names = {"a b c": "X", "b c d e": "Y", "e f g": "X"}
    policy = {"case": "insensitive", "stop_words": []}
    labels = find(names, "a b c d e f g", conflicts={"overlap": overlap}, policy=policy)
    assert [text for text, _ in labels] == found


def test_phrases_without_a_type(tmp_path: Path, labeller: Any) -> None:
    """They are no labels, but keep the words from being taken for none (AutoNER's full dictionary)."""
    (tmp_path / "full.txt").write_text("Golden Gate\nGolden Gate Bridge\nOslo\n", encoding="utf-8")
    (tmp_path / "core.tsv").write_text("Golden Gate\tLOC\nOslo\tLOC\n", encoding="utf-8")
    sentences = documents(["The Golden Gate Bridge is far from Oslo today."])
    made = labeller(sentences, dictionaries=[tmp_path / "core.tsv", tmp_path / "full.txt"])
    (one,) = made.label(sentences)
    assert named([one.sentence]) == [("Oslo", "LOC")]
    assert [(" ".join(one.sentence.words[x.start : x.end]), x.types) for x in one.labels] == [
        ("Golden Gate Bridge", ()),
        ("Oslo", ("LOC",)),
    ]
    assert [one.sentence.span_text(x) for x in one.sentence.unknown] == ["Golden Gate Bridge"]
    assert {(m.source, m.entry, m.line) for m in one.labels[0].evidence} == {
        ("full.txt", "Golden Gate Bridge", 2)
    }
    assert [m.source for m in one.labels[1].evidence] == ["core.tsv"]
    assert made.refused_matches.dropped == {("untyped", ""): 1}
    assert made.refused_matches.refused == {("part_of_longer", "LOC"): 1, ("part_of_longer", ""): 1}


# Whole corpora


def test_empty_sentences_and_documents(labeller: Any) -> None:
    sentences = [Sentence.from_words([]), *documents(["", "Ada left.", "   "]), Sentence.from_words([])]
    found = [one.sentence for one in labeller(sentences, {"Ada": "PER"}).label(sentences)]
    assert [(s.text, s.words) for s in found] == [(s.text, s.words) for s in sentences]
    assert all(s.spans is not None for s in found)
    assert named(found) == [("Ada", "PER")]
    assert list(labeller([], {"Ada": "PER"}).label([])) == []


def test_old_labels_are_replaced(labeller: Any) -> None:
    sentence = Sentence.from_words(["Ada", "left", "Oslo"], [Span(0, 3, "OLD")])
    (one,) = labeller([sentence], {"Oslo": "LOC"}).label([sentence])
    assert one.sentence.spans == (Span(2, 3, "LOC"),)


def test_a_document_of_more_than_a_million_words(labeller: Any) -> None:
    """A book in one file, or a corpus without line breaks, is long but nothing wrong."""
    line = "Ada left the house and went down to the old harbour . "
    (one,) = split(line)
    count = (1 << 20) // len(one) + 2
    text = line * count
    sentences = [
        Sentence(one.words, tuple((at + a, at + b) for a, b in one.offsets), text, doc="1")
        for at in range(0, len(text), len(line))
    ]
    made = labeller(sentences, {"Ada": "PER"})
    assert sum(len(one.labels) for one in made.label(sentences)) == count


def test_a_sentence_of_more_than_a_million_words(labeller: Any) -> None:
    with pytest.raises(DataError, match="put line breaks between sentences"):
        labeller([Sentence.from_words(["x"] * ((1 << 20) + 1))], {"Ada": "PER"})


def test_a_name_of_thousands_of_words_is_never_cut(labeller: Any) -> None:
    """A paragraph in a dictionary is a mistake, but half of it is no name."""
    sentence = Sentence.from_words(["ba"] * 5000)
    made = labeller([sentence], {"ba " * 5000: "X"}, policy={"case": "insensitive"})
    (one,) = made.label([sentence])
    assert one.sentence.spans in ((), (Span(0, 5000, "X"),))


def rows(labelled: Iterable[Labelled]) -> list[Any]:
    return [(one.sentence, one.labels) for one in labelled]


def test_workers_change_nothing(labeller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 40)
    texts = [f"Maria Lund met {n} people . Then Lund left Oslo on day {n} with Acme ." for n in range(60)]
    sentences = documents(texts)
    names = {"Maria Lund": "PER", "Lund": ["PER", "LOC"], "Oslo": "LOC", "Acme": "ORG"}
    made = labeller(sentences, names, conflicts={"ambiguous": "document"}, builtin=["CARDINAL"])
    outcomes = []
    for workers in (1, 2, 3):
        made.reset_counts()
        report = Report()
        found = rows(report.follow(made.label(iter(sentences), workers)))
        report.finish(made)
        outcomes.append((found, made.refused_matches, json.dumps(report.as_dict())))
    assert len(outcomes[0][0]) == len(sentences)
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_an_error_in_a_worker_is_raised_here(labeller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 1)
    sentences = documents(["Ada left."] * 9)
    made = labeller(sentences, {"Ada": "PER"})
    parent = os.getpid()

    def broken(chunk: Any, labels: Any = ChunkLabeller.labels) -> Any:
        if os.getpid() != parent:
            raise ValueError("broken in a worker")
        return labels(made.chunk_labeller, chunk)

    monkeypatch.setattr(ChunkLabeller, "labels", lambda self, chunk: broken(chunk))
    with pytest.raises(ValueError, match="broken in a worker"):
        list(made.label(sentences, 2))


def test_a_reader_that_stops_early_leaves_no_process(labeller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 10)
    sentences = documents(["Ada left the town ."] * 200)
    labels = labeller(sentences, {"Ada": "PER"}).label(sentences, 2)
    next(labels)
    labels.close()
    deadline = time.monotonic() + 10
    while multiprocessing.active_children() and time.monotonic() < deadline:
        time.sleep(0.01)  # what a worker has begun it may finish
    assert multiprocessing.active_children() == []


def test_labels_of_labels(labeller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One labeller's output is another's input, and each has workers of its own."""
    monkeypatch.setattr("roster.distant.labelling.chunks.CHUNK_WORDS", 10)
    sentences = documents(["Ada left the town of Oslo ."] * 20)
    people, places = labeller(sentences, {"Ada": "PER"}), labeller(sentences, {"Oslo": "LOC"})
    stream = (one.sentence for one in people.label(sentences, 2))
    assert named(one.sentence for one in places.label(stream, 2)) == [("Oslo", "LOC")] * 20


# Properties

NAMES = (
    *("Ada", "Ada Lund", "Lund", "Lund Oslo", "Oslo", "acme corp", "Acme Corp."),
    *("the", "Oslo Acme", "c-3", "IT"),
)
WORDS = (
    *("Ada", "ada", "Lund", "LUND", "Oslo", "Oslo's", "(Oslo)", "Acme", "Corp.", "corp"),
    *("the", ".", "c", "-", "3", "it", "x", "🎉", "王"),
)


@st.composite
def corpora(draw: st.DrawFn) -> list[Sentence]:
    sentences = []
    for doc in range(draw(st.integers(1, 3))):
        rows = draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=9), min_size=1, max_size=4))
        text, built = " ".join(w for row in rows for w in row), []
        at = 0
        for row in rows:
            offsets = []
            for word in row:
                offsets.append((at, at + len(word)))
                at += len(word) + 1
            built.append(Sentence(tuple(row), tuple(offsets), text, doc=str(doc)))
        sentences += built
    return sentences


@given(
    corpus=corpora(),
    names=st.dictionaries(
        st.sampled_from(NAMES),
        st.lists(st.sampled_from(["PER", "LOC", "ORG"]), min_size=1, max_size=3, unique=True),
        min_size=1,
        max_size=6,
    ),
    case=st.sampled_from(["smart", "exact", "upper", "insensitive"]),
    ambiguous=st.sampled_from(["drop", "all", "first", "document"]),
    overlap=st.sampled_from(["longest", "squares"]),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_labels_lie_in_their_sentence_apart_from_each_other_and_say_why(
    corpus: list[Sentence],
    names: dict[str, list[str]],
    case: str,
    ambiguous: str,
    overlap: str,
    labeller: Any,
) -> None:
    made = labeller(
        corpus, names, policy={"case": case}, conflicts={"ambiguous": ambiguous, "overlap": overlap}
    )
    lines = {(n, t): i for i, (n, t) in enumerate(((n, t) for n, ts in names.items() for t in ts), 1)}
    found = list(made.label(corpus))
    assert [one.sentence.with_spans(None) for one in found] == corpus
    for one in found:
        ends = [0, *(x.end for x in one.labels)]
        assert all(
            end <= x.start < x.end <= len(one.sentence) for end, x in zip(ends, one.labels, strict=False)
        )
        assert one.sentence.spans == tuple(Span(x.start, x.end, ",".join(x.types)) for x in one.labels)
        for label in one.labels:
            assert label.types == tuple(sorted(label.types))
            assert ambiguous == "all" or len(label.types) == 1
            assert {m.label for m in label.evidence} == set(label.types)
            text = "".join("".join(one.sentence.words[label.start : label.end]).split())
            for m in label.evidence:
                assert (m.start, m.end) == (label.start, label.end)
                assert (m.source, m.line) == ("names.tsv", lines[m.entry, m.kind])
                assert "".join(m.entry.split()).strip(".").casefold() in text.casefold()
