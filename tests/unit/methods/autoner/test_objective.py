"""AutoNER's loss against a walk over gaps and spans, what it learns, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.dataset import Dataset, Part, load_dataset
from roster.corpus.io import write
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError, ModelError
from roster.infer.export import export
from roster.infer.recogniser import load
from roster.methods.autoner.labels import BREAK, TIE, UNKNOWN, TieLabels
from roster.methods.autoner.objective import TieOrBreakObjective, earlier
from roster.methods.registry import head_of
from roster.methods.request import load_config
from roster.methods.train import train
from roster.model.decoding import decode
from roster.model.folder import load_model
from roster.scores import evaluate_sentences
from roster.training.loop import PlainModels
from roster.training.objective import losses_of

CPU = torch.device("cpu")


@st.composite
def batches(draw: st.DrawFn) -> tuple[TieLabels, list[int], np.random.Generator]:
    """Labels of a few windows, cut into spans of some words, and the number of words in each."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    gaps, lengths = [], []
    for size in sizes:
        row = [UNKNOWN, *generator.choice([BREAK, TIE, UNKNOWN], size - 1).tolist()]
        ends = [0] * size
        for end in range(size):
            if generator.random() < 0.5:
                ends[end] = int(generator.integers(1, end + 2))
        gaps += row
        lengths += ends
    allowed = generator.random((len(gaps), 4)) < 0.4
    allowed[~allowed.any(1), 0] = True
    return TieLabels(np.array(gaps, np.int8), np.array(lengths), allowed), sizes, generator


def by_hand(labels: TieLabels, outputs: list[np.ndarray]) -> float:
    after, before, first, last = outputs
    ties, spans = [], []
    for i, (gap, length) in enumerate(zip(labels.gaps, labels.lengths, strict=True)):
        if gap != UNKNOWN:
            p = 1 / (1 + np.exp(-(after[i - 1] + before[i])))
            ties.append(-np.log(p if gap == TIE else 1 - p))
        if length:
            e = np.exp(first[i - length + 1] + last[i])
            kept = e * labels.allowed[i]
            spans.append(-(kept / kept.sum() * np.log(e / e.sum())).sum())
    return float((np.mean(ties) if ties else 0) + (np.mean(spans) if spans else 0))


class Corpus:
    """What an objective asks of a corpus before there are models."""

    device = CPU

    def __init__(self, n_words: int):
        self.n_words = n_words


@given(batches())
def test_the_loss_is_its_definition(case: tuple[TieLabels, list[int], np.random.Generator]) -> None:
    """Also where there are places without a word, as in the fast engine's batches."""
    labels, _, generator = case
    n = len(labels.gaps)
    outputs = [generator.normal(size=n), generator.normal(size=n), *generator.normal(size=(2, n, 4))]
    objective = TieOrBreakObjective(Corpus(n), labels)  # type: ignore[arg-type]
    words = torch.arange(n).unsqueeze(0)
    packed = tuple(torch.from_numpy(x).unsqueeze(0) for x in outputs)
    found = losses_of(objective, [packed], words, torch.ones(1, n).double())
    assert found.shape == (1,)
    assert found.item() == pytest.approx(by_hand(labels, outputs), rel=1e-9)

    places = np.sort(generator.choice(2 * n, n, replace=False))
    here = torch.zeros(1, 2 * n).double()
    here[0, places] = 1
    wide_words = torch.zeros(1, 2 * n, dtype=torch.long)
    wide_words[0, places] = words[0]
    wide = []
    for x in packed:
        spread = torch.randn(1, 2 * n, *x.shape[2:]).double()
        spread[0, places] = x[0]
        wide.append(spread)
    assert losses_of(objective, [tuple(wide)], wide_words, here).item() == pytest.approx(
        found.item(), rel=1e-9
    )


@given(batches())
@settings(max_examples=25)
def test_the_target_is_fixed(case: tuple[TieLabels, list[int], np.random.Generator]) -> None:
    """The gradient is that of cross entropy against the restricted softmax as it stands: p - target."""
    labels, _, generator = case
    n = len(labels.gaps)
    ends = np.flatnonzero(labels.lengths)
    arrays = [generator.normal(size=n), generator.normal(size=n), *generator.normal(size=(2, n, 4))]
    tensors = tuple(torch.from_numpy(x).unsqueeze(0).requires_grad_() for x in arrays)
    objective = TieOrBreakObjective(Corpus(n), labels)  # type: ignore[arg-type]
    losses_of(objective, [tensors], torch.arange(n).unsqueeze(0), torch.ones(1, n).double()).sum().backward()
    expected = np.zeros((n, 4))
    for i in ends:
        e = np.exp(arrays[2][i - labels.lengths[i] + 1] + arrays[3][i])
        kept = e * labels.allowed[i]
        expected[i] = (e / e.sum() - kept / kept.sum()) / len(ends)
    assert tensors[3].grad is not None
    np.testing.assert_allclose(tensors[3].grad[0].numpy(), expected, atol=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 5))
def test_earlier_words(present: list[bool], back: int) -> None:
    places = [i for i, here in enumerate(present) if here]
    given_back = torch.full((1, len(present)), back)
    found = earlier(torch.tensor([present]).float(), given_back)[0].tolist()
    for number, place in enumerate(places):
        if number >= back:
            assert found[place] == places[number - back]


# Whole trainings

PEOPLE = ("Anna Berg", "Carl", "Dora Berg")
PLACES = ("Rome", "Oslo", "Bonn")
FRAMES = ("{0} went to {1} .", "then {0} saw {1} and {1} .", "the house in {1} .", "{0} , {0} and the dog .")


def sentences(count: int, seed: int) -> list[Sentence]:
    """Names of one and two words with their types, all of them known."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words: list[str] = []
        spans = []
        for part in str(draw.choice(FRAMES)).split():
            if part.startswith("{"):
                name = str(draw.choice(PEOPLE if part == "{0}" else PLACES)).split()
                spans.append(Span(len(words), len(words) + len(name), "PER" if part == "{0}" else "LOC"))
                words += name
            else:
                words.append(part)
        made.append(Sentence.from_words(words, spans))
    return made


def with_unknown(sentence: Sentence, name: str, label: str | None = None) -> Sentence:
    """Where the text has this name, it is a phrase of unknown type, or has another label."""
    spans = sentence.spans or ()
    its = [x for x in spans if sentence.span_text(x) == name]
    others = [x for x in spans if x not in its]
    if label is not None:
        return sentence.with_spans([*others, *(Span(x.start, x.end, label) for x in its)])
    return sentence.with_spans(others, [Span(x.start, x.end, "") for x in its])


def config_of(tiny: Path, **more: Any) -> Any:
    values = {"method": "autoner", "backbone.name": str(tiny), "backbone.max_length": 32,
              "optimiser.device": "cpu", "optimiser.batch_size": 8, "optimiser.precision": "float32",
              "autoner.epochs": 10, "autoner.learning_rate": 5e-3}  # fmt: skip
    return load_config(overrides={**values, **more})


def saved(folder: Path, train: list[Sentence], test: list[Sentence]) -> Dataset:
    folder.mkdir()
    write(folder / "train.jsonl", train)
    write(folder / "test.jsonl", test)
    return load_dataset(folder)


def test_it_learns_what_phrases_leave_open(tiny: Path, tmp_path: Path) -> None:
    """A place is of unknown type in some of its sentences and `LOC,PER` in the others: these teach that it
    is not None, and its context that it is a LOC. Names of two words are found whole."""
    gold = sentences(80, 0)
    half = [with_unknown(s, "Rome", None if i % 2 else "LOC,PER") for i, s in enumerate(gold)]
    assert sum(bool(s.unknown) for s in half) > 3
    test = sentences(40, 1)
    dataset = saved(tmp_path / "data", half, test)
    assert dataset.types == ("LOC", "LOC,PER", "PER")
    found = train(dataset, tmp_path / "run", config_of(tiny))
    scores = found["stages"]["autoner"]["scores"]["test"]
    assert scores["f1"] > 0.9
    # What training said is what the model folder finds, and what its model reads.
    ner = load(tmp_path / "run", "cpu")
    assert ner.types == ("LOC", "PER")
    answers = list(ner.find(test))
    assert evaluate_sentences([one.sentence for one in answers], test).as_dict() == scores
    assert all(0.3 < score <= 1 for one in answers for score in one.scores)
    (entity, *_) = ner("then Anna Berg saw Rome .")
    assert (entity.text, entity.start, entity.end) == ("Anna Berg", 5, 14)
    with pytest.raises(ModelError, match=r"cannot be written as ONNX.*of the kind autoner.*one by one"):
        export(tmp_path / "run", tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_phrases_keep_names_from_being_learned_as_none(tiny: Path, tmp_path: Path) -> None:
    """Of all Romes every fourth is labelled. Where the others are phrases of unknown type, Rome is what the
    labels say; without phrases it is learned to be none."""
    gold = sentences(80, 0)
    rome = [s for s in gold if "Rome" in s.words]
    train_on = [s if s not in rome or rome.index(s) % 4 == 0 else with_unknown(s, "Rome") for s in gold]
    dataset = saved(tmp_path / "data", train_on, sentences(40, 1))
    asked = [s for s in dataset.test if "Rome" in s.words]
    recall = {}
    for phrases in (True, False):
        run = tmp_path / f"run-{phrases}"
        train(dataset, run, config_of(tiny, **{"autoner.phrases": phrases}))
        found = [one.sentence for one in load(run, "cpu").find(asked)]
        recall[phrases] = np.mean([any(s.span_text(x) == "Rome" for x in s.spans or ()) for s in found])
    assert recall[True] > 0.8
    assert recall[False] < 0.4


def test_windows_of_one_sentence(tiny: Path, tmp_path: Path) -> None:
    """Longer sentences than a window can be learned and read; the served model is the one that was scored."""
    short = [with_unknown(s, "Rome", "LOC") for s in sentences(40, 0)]
    long = []
    for i in range(0, 40, 4):
        words, spans = [], []
        for s in short[i : i + 4]:
            spans += [Span(x.start + len(words), x.end + len(words), x.label) for x in s.spans or ()]
            words += s.words
        long.append(Sentence.from_words(words, spans).with_spans(spans, [Span(0, 1, "")] if i == 0 else []))
    dataset = Dataset(tmp_path, {"train": Part((tmp_path / "x",), "jsonl")}, ("LOC", "PER"))
    dataset.__dict__.update(train=short + long, valid=[], test=long)
    found = train(dataset, tmp_path / "run", config_of(tiny, **{"backbone.max_length": 16}))
    scores = found["stages"]["autoner"]["scores"]["test"]
    assert scores["f1"] > 0.8
    answers = [one.sentence for one in load(tmp_path / "run", "cpu").find(long)]
    assert evaluate_sentences(answers, long).as_dict() == scores


@pytest.mark.parametrize("engine", ["plain", "fast"])
def test_both_engines(engine: str, tiny: Path, tmp_path: Path) -> None:
    gold = sentences(60, 0)
    some = [with_unknown(s, "Rome") if i < 5 else s for i, s in enumerate(gold)]
    dataset = saved(tmp_path / "data", some, sentences(20, 1))
    found = train(dataset, tmp_path / "run", config_of(tiny, **{"optimiser.engine": engine}))
    assert f"device cpu, {engine} engine\n" in (tmp_path / "run" / "log.txt").read_text()
    assert found["stages"]["autoner"]["scores"]["test"]["f1"] > 0.9
    model, _, facts = load_model(tmp_path / "run" / "model", head_of)
    assert (facts.kind, facts.classes) == ("autoner", 5)
    from roster.backbone.alignment import WordEncoder
    from roster.backbone.loading import load_tokenizer
    from roster.model.batches import DeviceCorpus

    encoder = WordEncoder(load_tokenizer(str(tmp_path / "run" / "model")), 32)
    corpus = DeviceCorpus.put(encoder.encode([s.words for s in dataset.test]), encoder.specials.pad, CPU)
    (p,) = PlainModels(model, "float32").read(corpus)
    spans = decode("bio", p.numpy(), map(len, dataset.test), facts.types)
    assert spans == [one.sentence.spans for one in load(tmp_path / "run").find(dataset.test)]


def test_no_dictionary_of_phrases(tiny: Path, tmp_path: Path) -> None:
    dataset = saved(tmp_path / "data", sentences(20, 0), [])
    with pytest.raises(DataError, match=r"full\.txt.*autoner\.phrases=false"):
        train(dataset, tmp_path / "run", config_of(tiny))
    assert not (tmp_path / "run").exists()
    without = config_of(tiny, **{"autoner.phrases": False, "autoner.epochs": 1})
    assert list(train(dataset, tmp_path / "run", without)["stages"]) == ["autoner", "model"]


def test_other_phrases_are_other_data(tiny: Path, tmp_path: Path) -> None:
    gold = sentences(4, 0)
    one = saved(tmp_path / "a", [with_unknown(s, "Rome") for s in gold], [])
    gone = [s.with_spans(s.spans) for s in one.train]
    two = saved(tmp_path / "b", gone, [])
    assert [s.spans for s in one.train] == [s.spans for s in two.train]
    assert any(s.unknown for s in one.train)
    assert one.fingerprint() != two.fingerprint()
    assert json.loads((tmp_path / "a" / "train.jsonl").read_text().splitlines()[0])["text"] == gold[0].text
