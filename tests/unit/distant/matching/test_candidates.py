"""Candidates by capital letters, and by the tags of a spaCy pipeline trained here on a few sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence
from roster.distant.matching import candidates
from roster.distant.matching.candidate_rules import ENGLISH_CANDIDATES, CandidateRules
from roster.distant.matching.candidates import rule_candidates, spacy_candidates
from roster.errors import ConfigError, RosterError


def found(text: str, rules: CandidateRules = ENGLISH_CANDIDATES, nested: bool = False) -> list[str]:
    words = text.split()
    return [" ".join(words[start:end]) for start, end in rule_candidates(words, rules, nested=nested)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("we met Ada Pym in Westford", ["Ada Pym", "Westford"]),
        (
            "he bought an iPhone from McDonald and 3M in the U.S. via AT&T",
            ["iPhone", "McDonald", "3M", "U.S.", "AT&T"],
        ),
        ("signed J. R. Pym yesterday", ["J. R. Pym"]),
        ("die Straße nach Österreich und Ærø", ["Straße", "Österreich", "Ærø"]),
        ("она видела Анну Белову", ["Анну Белову"]),
        ("by ǅemal Bey", ["ǅemal Bey"]),
        ("彼女は 東京 に いる", []),
    ],
)
def test_capitals(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("the Bank of England", ["Bank of England"]),
        ("at the House of the Rising Moon", ["House of the Rising Moon"]),
        ("with Maria de la Vega and Jan van der Berg", ["Maria de la Vega", "Jan van der Berg"]),
        ("sold to Pym & Sons", ["Pym & Sons"]),
        ("a member of Parliament", ["Parliament"]),  # a connector needs a name on both sides
        ("the Bank of a friend", ["Bank"]),
        ("saw Ada the Great", ["Ada", "Great"]),  # an article joins only after a connector
        ("from Westford de la of Northgate", ["Westford", "Northgate"]),
        ("Westford - Northgate", ["Westford", "Northgate"]),
    ],
)
def test_connectors(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_other_connectors_can_be_set() -> None:
    rules = replace(ENGLISH_CANDIDATES, connectors=frozenset({"-", "and"}))
    assert found("in Stoke - on and Westford - Northgate", rules) == ["Stoke", "Westford - Northgate"]
    assert found("- The Westford road", rules) == ["Westford"]
    assert found("by Pym and Sons of Westford", rules) == ["Pym and Sons", "Westford"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The weather was fine", []),
        ("However , it rained", []),
        ("I think I know", []),
        ("Don’t ask , I’m late", []),
        ("Northgate fell by a tenth", ["Northgate"]),
        ("The Northgate fund", ["Northgate"]),
        ("In Westford it rains", ["Westford"]),
        ("In la Westford it rains", ["Westford"]),
        ('" The Westford road', ["Westford"]),
        ("4. The Westford road", ["Westford"]),
        ("she said : The Westford road", ["Westford"]),
        ("he lives in The Hague", ["The Hague"]),
        ("in Westford , The Mirror", ["Westford", "The Mirror"]),
        ("the story of King George I", ["King George I"]),
        ("advice that WHO and IT experts gave", ["WHO", "IT"]),
    ],
)
def test_function_words(text: str, names: list[str]) -> None:
    assert found(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Pym 's Westford office", ["Pym", "Westford"]),
        ("Pym ’s Westford office", ["Pym", "Westford"]),
        ("PYM 'S WESTFORD", ["PYM", "WESTFORD"]),
        ("Pym'S 'S mix of Cases", ["Pym'S", "Cases"]),
        ("( Westford ) , 2019 - 3", ["Westford"]),
        ("12 , 14 . % &", []),
        ("", []),
    ],
)
def test_clitics_signs_and_numbers(text: str, names: list[str]) -> None:
    assert found(text) == names


def test_a_sentence_all_in_capitals_gives_runs_of_other_than_function_words() -> None:
    assert found("PYM WINS AT THE BANK OF WESTFORD , 3 - 1") == ["PYM WINS", "BANK OF WESTFORD"]
    assert found("PYM wins AT HOME") == ["PYM", "AT HOME"]  # one word in small letters, and capitals count


def test_nested_parts() -> None:
    assert set(found("the Bank of England", nested=True)) == {"Bank of England", "Bank", "England"}
    assert set(found("Duke of Bath and Wells", nested=True)) == {"Duke of Bath", "Bath", "Wells"}
    assert set(found("The Hague met", nested=True)) == {"The Hague", "Hague"}
    assert set(found("in The & Ada", nested=True)) == {"The & Ada", "Ada"}  # no part of function words alone
    parts = found("the Royal Bank of Westford of Northgate", nested=True)
    assert len(parts) == 6
    assert {"Royal Bank of Westford", "Westford of Northgate"} < set(parts)


def test_nested_parts_before_and_after_a_title() -> None:
    text = "met Danish Foreign Minister Ada de la Pym ."
    assert found(text) == ["Danish Foreign Minister Ada de la Pym"]
    assert {"Danish Foreign", "Ada de la Pym"} < set(found(text, nested=True))
    assert "Minister" not in found(text, nested=True)
    assert set(found("a play on King Lear of Britain", nested=True)) == {
        "King Lear of Britain", "King Lear", "Lear of Britain", "Lear", "Britain"
    }  # fmt: skip
    assert set(found("the Isle of King Ada", nested=True)) == {"Isle of King Ada", "Isle", "King Ada", "Ada"}
    assert found("ask the President of it", nested=True) == ["President"]


def test_nested_parts_in_capitals_are_short() -> None:
    parts = found("PYM BEATS WESTFORD UNITED WIN", nested=True)
    assert {"PYM", "WESTFORD UNITED", "PYM BEATS WESTFORD UNITED WIN"} < set(parts)
    assert len(parts) == 5 + 4 + 3 + 1
    assert set(found("BANK OF WESTFORD", nested=True)) == {"BANK", "WESTFORD", "BANK OF WESTFORD"}


def test_the_number_of_nested_parts_stays_linear() -> None:
    words = ["Ada", "de"] * 2000
    assert len(rule_candidates(words, nested=True)) < 5 * 2000 + 2


@pytest.mark.parametrize("word", ["Of", "of the", ""])
def test_rules_that_could_never_match(word: str) -> None:
    with pytest.raises(
        ConfigError, match=re.escape(f"connectors: expected single words in lower case, got {word!r}")
    ):
        CandidateRules(connectors=frozenset({word}))


def test_another_language() -> None:
    german = CandidateRules(function_words=frozenset({"der"}), connectors=frozenset({"zu"}))
    assert found("Der Prinz zu Westfurt", german, nested=True) == [
        "Der Prinz", "Der Prinz zu Westfurt", "Prinz", "Prinz zu Westfurt", "Westfurt"
    ]  # fmt: skip


WORDS = st.lists(
    st.sampled_from(
        [
            "Ada",
            "PYM",
            "iPad",
            "The",
            "I",
            "In",
            "of",
            "de",
            "the",
            "&",
            "-",
            "King",
            "'s",
            "'S",
            ",",
            '"',
            "7",
            "a",
        ]
    )
    | st.text(min_size=1, max_size=4),
    max_size=12,
)
RULES = st.sampled_from(
    [
        ENGLISH_CANDIDATES,
        CandidateRules(),
        replace(ENGLISH_CANDIDATES, connectors=frozenset({"-", "and", "a"})),
    ]
)


@given(WORDS, RULES, st.booleans(), st.booleans())
def test_candidates_are_sound(words: list[str], rules: CandidateRules, nested: bool, capitals: bool) -> None:
    words = [word.upper() for word in words] if capitals else words
    spans = rule_candidates(words, rules, nested=nested)
    assert spans == rule_candidates(tuple(words), rules, nested=nested)
    assert spans == sorted(set(spans))
    for start, end in spans:
        assert 0 <= start < end <= len(words)
        for word in (words[start], words[end - 1]):
            assert any(map(str.isalpha, word))
            assert (
                word.lower() if "".join(words).isupper() else word
            ) not in rules.connectors | rules.articles
        assert not {word.lower() for word in words[start:end]} & rules.clitics
        assert not all(
            word.lower() in rules.function_words and word != word.upper() for word in words[start:end]
        )


@given(WORDS, RULES)
def test_runs_are_apart_and_among_the_nested_ones(words: list[str], rules: CandidateRules) -> None:
    runs = rule_candidates(words, rules)
    assert all(end < start for (_, end), (start, _) in pairwise(runs))
    assert set(runs) <= set(rule_candidates(words, rules, nested=True))


def brute_force(words: list[str]) -> list[tuple[int, int]]:
    """All longest stretches of capitalised words with single "of" between them, for words of three kinds."""
    spans = [
        (i, j)
        for i in range(len(words))
        for j in range(i + 1, len(words) + 1)
        if words[i] == words[j - 1] == "Ada"
        and all(
            words[k] == "Ada" or (words[k] == "of" and words[k + 1] == "Ada" == words[k - 1])
            for k in range(i, j)
        )
    ]
    return [s for s in spans if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in spans)]


@given(st.lists(st.sampled_from(["Ada", "of", "walked"]), max_size=14))
def test_against_brute_force(words: list[str]) -> None:
    rules = CandidateRules(connectors=frozenset({"of"}))
    doubled = any(pair == ("of", "of") for pair in pairwise(words))
    if not doubled:  # two connectors in a row also join
        assert rule_candidates(words, rules) == brute_force(words)


def test_what_is_remembered_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "KNOWN_WORDS", 3)
    rules = CandidateRules(titles=frozenset({"only-here"}))
    words = [f"Ada{i}" for i in range(50)]
    assert rule_candidates(words, rules) == [(0, 50)]
    assert len(candidates._codes_by_word(rules, False)) <= 3


# spaCy

TAGS = {"the": "DT", "a": "DT", "saw": "VBD", "left": "VBD", "met": "VBD", "of": "IN", "'s": "POS", ".": ".",
        "road": "NN", "dog": "NN", "&": "CC", ",": ","}  # fmt: skip
POS = {"DT": "DET", "VBD": "VERB", "IN": "ADP", "POS": "PART", ".": "PUNCT", ",": "PUNCT", "NN": "NOUN",
       "CC": "CCONJ", "NNP": "PROPN"}  # fmt: skip
TRAINING = [
    "Ada saw the dog .",
    "the dog of Ada left Westford .",
    "Ada Pym met the Bank of Westford .",
    "Pym 's dog left a road , Ada saw Pym & Westford .",
    "the Westford Bank met Ada .",
    "a road left Pym .",
]


def train(folder: Path, *components: str, prepare: Any = None) -> Path:
    """A pipeline that spaCy has trained to tag the sentences above, saved."""
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import Doc
    from spacy.training import Example

    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    for name in components:
        nlp.add_pipe(name)
    examples = []
    for text in TRAINING:
        words = text.split()
        tags = [TAGS.get(word, "NNP") for word in words]
        gold = Doc(nlp.vocab, words=words, tags=tags, pos=[POS[tag] for tag in tags])
        examples.append(Example(Doc(nlp.vocab, words=words), gold))
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(25):
        nlp.update(examples, sgd=optimizer)
    if prepare is not None:
        prepare(nlp)
    nlp.to_disk(folder)
    return folder


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("tagger") / "tagger", "tagger")


@pytest.fixture(scope="module")
def morphologizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With components that are not wanted: two that would make one word of "Ada Pym"."""

    def prepare(nlp: Any) -> None:
        ruler = nlp.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "PER", "pattern": "Ada Pym"}])
        nlp.add_pipe("merge_entities")

    return train(tmp_path_factory.mktemp("pos") / "pos", "morphologizer", prepare=prepare)


def by_tag(texts: Iterable[str], pipeline: Path, **options: Any) -> list[list[str]]:
    sentences = [Sentence.from_words(text.split()) for text in texts]
    found = spacy_candidates(sentences, str(pipeline), **options)
    return [
        [" ".join(sentence.words[a:b]) for a, b in spans]
        for sentence, spans in zip(sentences, found, strict=True)
    ]


TEXTS = ["Ada Pym saw the Bank of Westford .", "", "the dog left .", "Pym 's dog met Ada , Pym & Westford ."]
EXPECTED = [["Ada Pym", "Bank of Westford"], [], [], ["Pym", "Ada", "Pym & Westford"]]


@pytest.mark.parametrize("batch_size", [1, 3])
def test_runs_of_proper_nouns_by_penn_tags(tagger: Path, batch_size: int) -> None:
    assert by_tag(TEXTS, tagger, batch_size=batch_size) == EXPECTED


def test_runs_of_proper_nouns_by_part_of_speech(morphologizer: Path) -> None:
    assert by_tag(TEXTS, morphologizer) == EXPECTED


def test_connectors_and_parts_as_with_capitals(tagger: Path) -> None:
    rules = replace(ENGLISH_CANDIDATES, connectors=frozenset({"of"}), titles=frozenset({"pym"}))
    (spans,) = by_tag(["Pym & Bank of Westford saw Pym Ada ."], tagger, rules=rules, nested=True)
    assert spans == ["Pym", "Bank", "Bank of Westford", "Westford", "Pym Ada", "Ada"]


def test_labels_of_a_knowledge_base_for_proper_nouns(tagger: Path, tmp_path: Path) -> None:
    """The pipeline is loaded once, for the look at the corpus and for all its chunks."""
    from roster.distant.kb.classes import load_classes
    from roster.distant.kb.store import build
    from roster.distant.labelling import labeller
    from roster.distant.settings import load_settings

    item, label = "<http://www.wikidata.org/entity/Q1>", "<http://www.w3.org/2000/01/rdf-schema#label>"
    direct, human = "<http://www.wikidata.org/prop/direct/P31>", "<http://www.wikidata.org/entity/Q5>"
    (tmp_path / "one.nt").write_text(f'{item} {label} "Ada Pym"@en .\n{item} {direct} {human} .\n')
    build([tmp_path / "one.nt"], tmp_path / "store", load_classes("conll"))
    settings = load_settings(kb={"source": str(tmp_path / "store")}, candidates={"by": str(tagger)})
    made = labeller.Labeller(settings)
    sentences = [Sentence.from_words(["Ada", "Pym", "saw", "Westford", "."], doc=str(n)) for n in range(5)]
    candidates._tagger.cache_clear()
    made.prepare(lambda: sentences)
    found = [one.sentence.spans for one in made.label(sentences)]
    assert [[(x.start, x.end, x.label) for x in spans or ()] for spans in found] == [[(0, 2, "PER")]] * 5
    assert candidates._tagger.cache_info().misses == 1


def test_unneeded_components_do_not_run(morphologizer: Path) -> None:
    nlp, _ = candidates._tagger(morphologizer)
    assert nlp.pipe_names == ["morphologizer"]


def test_a_component_stays_where_another_requires_it() -> None:
    spacy = pytest.importorskip("spacy")
    spacy.Language.component("tag_by_sentence", func=_same, requires=["token.is_sent_start"])
    nlp = spacy.blank("en")
    for name in ("sentencizer", "parser", "ner", "tag_by_sentence", "tok2vec"):
        nlp.add_pipe(name)
    assert candidates._unneeded(nlp) == ["ner"]


def _same(doc: Any) -> Any:
    return doc


def _join_two(doc: Any) -> Any:
    with doc.retokenize() as retokenizer:
        if len(doc) > 2:
            retokenizer.merge(doc[:2])
    return doc


def test_a_pipeline_that_joins_words(tagger: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    spacy.Language.component("join_two", func=_join_two)
    nlp = spacy.load(tagger)
    nlp.add_pipe("join_two")
    nlp.to_disk(tmp_path / "joins")
    with pytest.raises(ConfigError, match=r"joins or splits words: .*\(tagger, join_two\)"):
        by_tag(["Ada saw Pym ."], tmp_path / "joins")


def test_the_white_space_of_the_text_is_kept(tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    coded = candidates._tagged_code
    monkeypatch.setattr(candidates, "_tagged_code", lambda t, r: seen.append(t.text_with_ws) or coded(t, r))
    text = "x Ada's  dog."
    sentence = Sentence(("Ada", "'s", "dog", "."), ((2, 5), (5, 7), (9, 12), (12, 13)), text)
    assert list(spacy_candidates([sentence], tagger)) == [[(0, 1)]]
    assert seen == ["Ada", "'s ", "dog", "."]


class Tagged:
    """A word as a tagger may tag it, right or wrong."""

    def __init__(self, text: str, pos: str = "PROPN", tag: str = ""):
        self.text, self.pos_, self.tag_ = text, pos, tag


@pytest.mark.parametrize(
    ("words", "spans"),
    [
        (["Ada", "-", "Pym", "."], [(0, 3)]),  # all tagged PROPN: a sign inside, but not at the end
        (["7", "Ada"], [(1, 2)]),
        (["Ada", "'s", "Pym"], [(0, 1), (2, 3)]),
        (["-", "7"], []),
    ],
)
def test_proper_nouns_without_a_letter(words: list[str], spans: list[tuple[int, int]]) -> None:
    codes = "".join(candidates._tagged_code(Tagged(word), ENGLISH_CANDIDATES) for word in words)
    assert candidates._runs(codes, nested=False) == spans


def test_without_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[spacy\]"'):
        spacy_candidates([], "en_core_web_sm")


def test_a_pipeline_that_is_not_there() -> None:
    pytest.importorskip("spacy")
    with pytest.raises(
        ConfigError, match=r"'xx_no_such': install it \(python -m spacy download xx_no_such\), or give"
    ):
        spacy_candidates([], "xx_no_such")


def test_a_folder_that_is_no_pipeline(tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(ConfigError, match=f"{re.escape(str(tmp_path))}' cannot be used: "):
        spacy_candidates([], tmp_path)


def test_a_pipeline_that_was_never_trained(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    nlp.to_disk(tmp_path / "raw")
    with pytest.raises(ConfigError, match="raw' cannot be used: "):
        spacy_candidates([], tmp_path / "raw")


@pytest.mark.filterwarnings("ignore:.*W036")  # an attribute ruler without rules
@pytest.mark.parametrize(
    ("components", "named"), [((), "nothing"), (("sentencizer", "attribute_ruler"), "attribute_ruler")]
)
def test_a_pipeline_without_a_tagger(tmp_path: Path, components: tuple[str, ...], named: str) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    for name in components:
        nlp.add_pipe(name)
    nlp.to_disk(tmp_path / "bare")
    with pytest.raises(ConfigError, match=rf"marks no proper nouns: .*\(this one has: {named}\)"):
        spacy_candidates([], tmp_path / "bare")
