"""Models of each kind as annotators: the spans that they find in a corpus's own words."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from roster.annotators.gliner_model import PIECE_WORDS, GlinerModel
from roster.annotators.loading import MARKS, load_annotator
from roster.annotators.token_classifier import TokenClassifier
from roster.corpus.sentence import Sentence
from roster.distant.matching.span_mentions import ScoredSpan
from roster.distant.span_sources import KINDS, Model
from roster.errors import ConfigError, ModelError, RosterError

NAMES = [
    [("Anna", "PER"), ("Oslo", "LOC")],
    [("Carl Berg", "PER"), ("Bonn", "LOC")],
    [],
    [("Dora", "PER"), ("Rome", "LOC")],
]


def named(
    sentences: Sequence[Sentence], found: Iterable[Sequence[ScoredSpan]]
) -> list[list[tuple[str, str]]]:
    return [
        [(s.text[x.start : x.end], x.kind) for x in spans] for s, spans in zip(sentences, found, strict=True)
    ]


# spaCy


def test_entities_of_a_spacy_pipeline(pipeline: Path, sentences: list[Sentence]) -> None:
    annotate = load_annotator(Model(str(pipeline), name="rules", batch_size=1), {})
    found = list(annotate(sentences))
    assert named(sentences, found) == [
        [("Anna", "PERSON"), ("Oslo", "GPE")], [("Carl Berg", "PERSON")], [], [("Rome", "GPE")],
    ]  # fmt: skip
    assert {x.score for spans in found for x in spans} == {None}


def test_a_pipeline_that_joins_words(pipeline: Path, sentences: list[Sentence], tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    nlp = spacy.load(pipeline)
    nlp.add_pipe("merge_entities")
    nlp.to_disk(tmp_path / "joins")
    with pytest.raises(ConfigError, match=r"joins or splits words: .*merge_entities"):
        list(load_annotator(Model(str(tmp_path / "joins"), name="x"), {})(sentences))


def test_pipelines_that_cannot_be_loaded(pipeline: Path, tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(ConfigError, match="no spaCy pipeline 'no_such_pipeline': install it"):
        load_annotator(Model("no_such_pipeline", name="x"), {})
    shutil.copytree(pipeline, tmp_path / "broken")
    (tmp_path / "broken/config.cfg").write_text("[nlp]\n")
    with pytest.raises(ConfigError, match="cannot be used"):
        load_annotator(Model(str(tmp_path / "broken"), name="x"), {})
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(RosterError, match=r'needs spaCy: pip install "roster-ner\[spacy\]"'):
        load_annotator(Model(str(pipeline), name="x"), {})


# transformers


def test_a_token_classifier(classifier: Path, sentences: list[Sentence], monkeypatch: Any) -> None:
    annotate = load_annotator(Model(str(classifier), name="tagger", device="cpu"), {})
    found = list(annotate(sentences))
    assert named(sentences, found) == NAMES
    assert all(x.score is not None and 0.5 < x.score <= 1 for spans in found for x in spans)
    # The size of a batch changes no span.
    monkeypatch.setattr("roster.annotators.token_classifier.CHUNK_WORDS", 1)
    assert named(sentences, annotate(sentences)) == NAMES


def test_a_token_classifier_is_that_of_transformers(classifier: Path) -> None:
    """The tags of words are those that transformers' own pipeline gives."""
    from transformers import pipeline

    theirs = pipeline("token-classification", str(classifier), aggregation_strategy="first", device="cpu")
    sentence = Sentence.from_words(["Then", "Carl", "Berg", "saw", "Bonn", "with", "Anna", "in", "Rome"])
    (ours,) = TokenClassifier(str(classifier), "cpu")([sentence])
    expected = [(x["start"], x["end"], x["entity_group"]) for x in theirs(sentence.text)]
    assert [(x.start, x.end, x.kind) for x in ours] == expected
    assert len(ours) == 4


def test_a_sentence_longer_than_the_model_takes(classifier: Path) -> None:
    sentence = Sentence.from_words(["Then", "Anna", "saw", "Oslo", "."] * 30)
    (found,) = TokenClassifier(str(classifier), "cpu")([sentence])
    # Words after the first window (32 sub-words) are read too.
    read = [(sentence.text[x.start : x.end], x.kind) for x in found if x.start > len(sentence.text) // 2]
    assert read.count(("Anna", "PER")) >= 10
    assert read.count(("Oslo", "LOC")) >= 10


def test_classifiers_that_are_refused(classifier: Path, backbones: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no weights for classifier"):
        load_annotator(Model(str(backbones["bert"]), name="x"), {})
    shutil.copytree(classifier, tmp_path / "numbers")
    config = json.loads((tmp_path / "numbers/config.json").read_text())
    names = {str(i): f"LABEL_{i}" for i in range(4)}
    config |= {"id2label": names, "label2id": {name: int(i) for i, name in names.items()}}
    (tmp_path / "numbers/config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"expected tags such as O and B-PER .*, found LABEL_0, LABEL_1"):
        load_annotator(Model(str(tmp_path / "numbers"), name="x"), {})


# GLiNER


class FakeGliner:
    """What the adapter uses of GLiNER: it finds the first word of every text, with a score of 0.75."""

    asked: list[Any]

    @classmethod
    def from_pretrained(cls, name: str, map_location: str) -> FakeGliner:
        if Path(name).name == "broken":
            raise OSError("no weights\nhere")
        made = cls()
        made.asked = [name, map_location]
        return made

    def to(self, device: Any) -> FakeGliner:
        return self

    def eval(self) -> FakeGliner:
        return self

    def inference(self, texts: list[str], labels: list[str], threshold: float, batch_size: int) -> Any:
        self.asked.append((len(texts), labels, threshold))
        words = [text.split()[0] for text in texts]
        return [[{"start": 0, "end": len(word), "label": labels[0], "score": 0.75}] for word in words]


@pytest.fixture
def gliner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package, and a hub from which every name can be had."""

    def snapshot(repository: str, **options: Any) -> str:
        (tmp_path / repository).mkdir(parents=True, exist_ok=True)
        return str(tmp_path / repository)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot)
    module = ModuleType("gliner")
    module.GLiNER = FakeGliner  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gliner", module)


def test_gliner_is_asked_for_types(gliner: None, sentences: list[Sentence], tmp_path: Path) -> None:
    """Those of the model, else the types that are mapped to labels; texts in batches."""
    labels = {"person": "PER", "ORG.*": "ORG", "film": ""}
    annotate: Any = load_annotator(
        Model("org/name", "gliner", (), 2, "cpu", name="x", least_score=0.3), labels
    )
    found = list(annotate(sentences))
    assert named(sentences, found) == [[("Anna", "person")], [("Then", "person")], [], [("Dora", "person")]]
    assert found[1][0].score == 0.75
    place = str(tmp_path / "org/name")
    assert annotate._model.asked == [place, "cpu", (2, ["person"], 0.3), (1, ["person"], 0.3)]
    annotate = load_annotator(Model("org/name", "gliner", ("city",), name="x", device="cpu"), labels)
    assert list(annotate(sentences))[3] == [ScoredSpan(0, 4, "city", 0.75)]


def test_gliner_reads_long_sentences_in_pieces(gliner: None) -> None:
    sentence = Sentence.from_words([f"w{i}" for i in range(2 * PIECE_WORDS + 1)])
    (found,) = GlinerModel("org/name", ["x"], device="cpu")([sentence])
    assert [sentence.text[x.start : x.end] for x in found] == [f"w{i * PIECE_WORDS}" for i in range(3)]


def test_gliner_that_is_refused(gliner: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        ConfigError, match="GLiNER finds the types that it is asked for; give them with --types"
    ):
        load_annotator(Model("org/name", "gliner", name="x"), {"ORG.*": "ORG"})
    with pytest.raises(ModelError, match="cannot load the GLiNER model broken: no weights here"):
        GlinerModel("broken", ["person"], device="cpu")
    monkeypatch.setitem(sys.modules, "gliner", None)
    with pytest.raises(RosterError, match=r'needs the package gliner: pip install "roster-ner\[gliner\]"'):
        GlinerModel("org/name", ["person"])


def test_the_package_gliner_has_what_the_adapter_uses() -> None:
    package = pytest.importorskip("gliner")
    model = pytest.importorskip("gliner.model")
    assert hasattr(package.GLiNER, "from_pretrained")
    assert hasattr(model.BaseGLiNER, "inference")


# Kinds


def test_kinds_that_are_refused(tmp_path: Path) -> None:
    assert {*MARKS.values()} == {*KINDS}
    with pytest.raises(ConfigError, match="the folder is no model of ours, of GLiNER, spaCy or transformers"):
        load_annotator(Model(str(tmp_path), name="x"), {})
    with pytest.raises(
        ConfigError, match=r"no model folder org/name; .* transformers:org/name or gliner:org/name"
    ):
        load_annotator(Model("org/name", name="x"), {})
    (tmp_path / "roster.json").write_text("{}")
    with pytest.raises(ModelError):
        load_annotator(Model(str(tmp_path), name="x"), {})
