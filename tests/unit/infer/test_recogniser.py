"""A trained model on text as it comes."""

from __future__ import annotations

import gc
import json
import shutil
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.backbone.alignment import WordEncoder
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import sentences
from roster.errors import DataError, ModelError
from roster.infer.documents import records
from roster.infer.recogniser import Entity, Recogniser, chunks, load
from roster.methods.registry import head_of
from roster.model.batches import DeviceCorpus
from roster.model.folder import load_model
from roster.model.reading import read_probabilities
from roster.scores import evaluate_sentences


@pytest.fixture(scope="session", params=["torch", "onnx"])
def recogniser(request: pytest.FixtureRequest, trained: Path, exported: Path) -> Recogniser:
    """Read by either engine, with more workers than most machines that run this have cores."""
    found = load(trained if request.param == "torch" else exported, "cpu")
    found.engine.workers = 3
    return found


def test_it_knows_the_toy_task(recogniser: Recogniser, toy: list[Sentence]) -> None:
    found = [f.sentence for f in recogniser.find(toy)]
    assert evaluate_sentences(found, toy).f1 > 0.95
    entities = recogniser("Anna went to Paris .")
    assert [(e.text, e.label, e.start, e.end) for e in entities] == [
        ("Anna", "PER", 0, 4),
        ("Paris", "LOC", 13, 18),
    ]
    assert all(0.5 < e.score <= 1 for e in entities)
    assert entities[0].as_dict() == {
        "text": "Anna", "label": "PER", "start": 0, "end": 4, "score": entities[0].score
    }  # fmt: skip


def test_a_few_sentences_are_shared_among_the_workers(
    recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would fit into one batch; the entities are the same."""
    texts, rows = ["Anna went to Paris ."] * 6, []
    alone = [[(e.text, e.label) for e in recogniser(text)] for text in texts]
    logits = recogniser.engine.logits

    def counted(ids: np.ndarray, mask: np.ndarray, at: np.ndarray) -> np.ndarray:
        rows.append(len(ids))
        return logits(ids, mask, at)

    monkeypatch.setattr(recogniser.engine, "logits", counted)
    assert [[(e.text, e.label) for e in found] for found in recogniser.pipe(texts)] == alone
    assert rows == [2] * recogniser.engine.workers


SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\xa0", "\u2028", "\u3000", "\u200b", "\ufeff", "\x00"]
ODD = ["é", "e\u0301", "👩‍💻", "🇨🇭", "日本", "'s", "<s>", "</s>", "<mask>", "-"]
PIECE = st.sampled_from(["Anna", "Paris", "Carl", "Oslo", "went", "to", ".", *SPACES, *ODD])
TEXT = st.lists(PIECE, max_size=15).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)


@given(texts=st.lists(TEXT, max_size=5))
@settings(max_examples=60)
def test_offsets_are_exact_and_pipe_is_single_calls(texts: list[str], recogniser: Recogniser) -> None:
    found = list(recogniser.pipe(texts))
    assert len(found) == len(texts)
    for text, entities in zip(texts, found, strict=True):
        for entity in entities:
            assert text[entity.start : entity.end] == entity.text
            assert entity.text.strip() == entity.text != ""
            assert entity.label in recogniser.types
            assert 0 <= entity.score <= 1
        for a, b in pairwise(entities):
            assert a.end <= b.start
        alone = recogniser(text)
        assert [(e.start, e.end, e.label) for e in alone] == [(e.start, e.end, e.label) for e in entities]
        assert [e.score for e in alone] == pytest.approx([e.score for e in entities], abs=2e-4)


def test_offsets_in_an_odd_text(recogniser: Recogniser) -> None:
    text = "\ufeff\n\n  👩‍💻 Anna \t\xa0saw\u2028 Paris\r\n\x00 and\u3000Carl  "
    found = recogniser(text)
    assert {"Anna", "Paris", "Carl"} <= {e.text for e in found}
    assert all(text[e.start : e.end] == e.text for e in found)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000"])
def test_empty_texts(text: str, recogniser: Recogniser) -> None:
    assert recogniser(text) == []
    found = list(recogniser.pipe([text, "Anna went to Paris .", text, text]))
    assert [len(x) for x in found] == [0, 2, 0, 0]


def test_no_texts(recogniser: Recogniser) -> None:
    assert list(recogniser.pipe([])) == []
    assert list(recogniser.find([])) == []


def test_a_long_text_goes_through_windows(recogniser: Recogniser) -> None:
    """One sentence of thousands of words, without a full stop: all its names are found where they stand."""
    text = "Anna went to Paris and then " * 700
    found = recogniser(text)
    assert all(text[e.start : e.end] == e.text for e in found)
    assert sum(e.text == "Paris" for e in found) > 650
    assert sum(e.text == "Anna" for e in found) > 650
    assert found[-1].start > len(text) - 40


def test_several_sentences_as_one_list_of_words(recogniser: Recogniser) -> None:
    """Where they are longer than a window, they are read as the sentences of a running text are."""
    sentences = [Sentence.from_words(["Carl", *["went"] * n, "to", "Rome", "."]) for n in range(9)]
    words = [word for sentence in sentences for word in sentence.words]
    assert len(words) > recogniser.engine.encoder.limit
    alone = recogniser.logits(sentences)
    assert np.allclose(recogniser.logits([Sentence.from_words(words)]), alone, atol=1e-5)


def test_words_outside_the_windows_border_see_the_same(recogniser: Recogniser) -> None:
    """Sentences of one window are read as if alone; chunks do not matter."""
    sentences = [Sentence.from_words(["Carl", "saw", "Rome", "."]) for _ in range(50)]
    for chunk in (1, 7, 10**6):
        found = list(recogniser.find(sentences, chunk_words=chunk))
        assert [f.sentence.words for f in found] == [s.words for s in sentences]
        assert {f.sentence.spans for f in found} == {found[0].sentence.spans}


def test_pipe_reads_ahead_only_a_chunk(recogniser: Recogniser) -> None:
    taken = []

    def endless() -> Iterator[str]:
        i = 0
        while True:
            taken.append(i)
            yield "Anna went to Paris and saw the house with Carl . " * 100
            i += 1

    stream = recogniser.pipe(endless())
    assert len(next(stream)) > 50
    assert len(taken) < 30


def test_the_score_is_the_mean_probability_of_the_words(recogniser: Recogniser, trained: Path) -> None:
    sentence = Sentence.from_words(["then", "Anna", "Berg", "saw", "Rome"])
    (found,) = recogniser.find([sentence])
    model, tokenizer, facts = load_model(trained, head_of)
    encoded = WordEncoder(tokenizer, facts.max_length).encode([sentence.words])
    p = read_probabilities(model, DeviceCorpus.put(encoded, tokenizer.pad_token_id, torch.device("cpu")))
    best = p.max(-1).values.tolist()
    assert found.sentence.spans
    for span, score in zip(found.sentence.spans, found.scores, strict=True):
        assert score == pytest.approx(sum(best[span.start : span.end]) / (span.end - span.start), abs=1e-4)


def test_folders(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run" / "model")
    assert load(tmp_path / "run", "cpu").types == ("PER", "LOC")
    assert load(str(trained), "cpu").types == ("PER", "LOC")
    with pytest.raises(ModelError, match="there is no model folder"):
        load(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match="is not a model"):
        load(tmp_path / "empty")


def test_a_folder_from_before(trained: Path, tmp_path: Path) -> None:
    """One whose roster.json does not name the special tokens, and which has no checksums."""
    old = shutil.copytree(trained, tmp_path / "m")
    (old / "checksums.json").unlink()
    facts = json.loads((old / "roster.json").read_text())
    assert facts.pop("specials")
    assert facts["layout"] == 1
    (old / "roster.json").write_text(json.dumps(facts))
    text = "Anna went to Paris , then [UNK] <mask> 👩‍💻 saw Carl ."
    assert load(old, "cpu")(text) == load(trained, "cpu")(text)


@pytest.mark.parametrize("pad", [-1, -(10**6), 10**6, 2**31, 2**70])
def test_a_padding_token_outside_the_vocabulary(
    pad: int, trained: Path, exported: Path, tmp_path: Path
) -> None:
    """Without checksums, a wrong number is found by its value."""
    for source in (trained, exported):
        old = shutil.copytree(source, tmp_path / source.parent.name)
        (old / "checksums.json").unlink()
        edit(old, specials={**read_json(old)["specials"], "pad": pad})
        message = (
            rf"{old.name} is damaged: the special token {pad} is not one of the \d+ entries of the vocabulary"
        )
        with pytest.raises(ModelError, match=message):
            load(old, "cpu")


def test_a_padding_token_that_the_tokenizer_adds(trained: Path, tmp_path: Path) -> None:
    """A folder whose roster.json does not name the special tokens."""
    old = shutil.copytree(trained, tmp_path / "m")
    (old / "checksums.json").unlink()
    edit(old, specials=None)
    tokenizer = json.loads((old / "tokenizer_config.json").read_text())
    (old / "tokenizer_config.json").write_text(json.dumps({**tokenizer, "pad_token": "<odd>"}))
    with pytest.raises(ModelError, match=r"the special token \d+ is not one of the \d+ entries"):
        load(old, "cpu")


@pytest.mark.parametrize("pad", [-(10**6), -1, 10**6, 2**70, None, 1.5, float("nan")])
def test_positions_from_an_odd_padding_token(pad: Any, trained: Path, tmp_path: Path) -> None:
    """RoBERTa counts its positions from the padding token in config.json."""
    old = shutil.copytree(trained, tmp_path / "m")
    (old / "checksums.json").unlink()
    config = json.loads((old / "config.json").read_text())
    assert config["model_type"] == "roberta"
    (old / "config.json").write_text(json.dumps({**config, "pad_token_id": pad}))
    with pytest.raises(ModelError, match=rf"config\.json is damaged: 'pad_token_id' is {pad}, not one of"):
        load(old, "cpu")
    (old / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 20}))
    with pytest.raises(
        ModelError, match=r"is damaged: its encoder has \d+ positions, too few for .* 24 sub-words"
    ):
        load(old, "cpu")


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (lambda m: edit(m, max_length=99999), "roster.json"),
        (lambda m: edit(m, specials={**read_json(m)["specials"], "pad": 10**6}), "roster.json"),
        (lambda m: overwrite(m / "roster.safetensors"), "roster.safetensors"),
        (lambda m: overwrite(m / "tokenizer.json"), "tokenizer.json"),
    ],
)
def test_a_changed_file(harm: Callable[[Path], None], name: str, trained: Path, tmp_path: Path) -> None:
    """Also one that could be loaded, and would predict something else."""
    copy = shutil.copytree(trained, tmp_path / "m")
    load(copy, "cpu")
    harm(copy)
    with pytest.raises(ModelError, match=rf"{name} is damaged: its checksum differs"):
        load(copy, "cpu")


def read_json(model: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((model / "roster.json").read_text())
    return found


def edit(model: Path, **change: Any) -> None:
    (model / "roster.json").write_text(json.dumps({**read_json(model), **change}))


def overwrite(path: Path) -> None:
    """400 bytes in the middle, as a bad disk would; the length stays."""
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 400] = b"0" * len(content[middle : middle + 400])
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "expected one text .*, not None"),
        (float("nan"), "not NaN"),
        (["Anna"], "not a list; ner.pipe takes several"),
        (b"Anna", "not a bytes"),
        ("Anna \ud800", r"half of a surrogate pair \(U\+D800\) at character 5"),
    ],
)
def test_what_is_no_text(text: Any, message: str, recogniser: Recogniser) -> None:
    with pytest.raises(DataError, match=message):
        recogniser(text)
    if not isinstance(text, list):
        with pytest.raises(DataError, match=r"text 1 is (not valid Unicode|.*, not a string)"):
            list(recogniser.pipe(["Anna left .", text]))


@pytest.mark.parametrize("texts", ["Anna left Oslo .", None, 3])
def test_pipe_takes_several_texts(texts: Any, recogniser: Recogniser) -> None:
    with pytest.raises(DataError, match="expected several texts"):
        list(recogniser.pipe(texts))


class BrokenError(Exception):
    pass


@pytest.mark.parametrize("good", [0, 1, 7, 300])
def test_an_error_of_the_input_comes_where_it_is(good: int, recogniser: Recogniser) -> None:
    """After the answers to all texts before it, however far ahead texts are read."""

    def texts() -> Iterator[str]:
        for i in range(good):
            yield "Anna went to Paris . Carl saw the house with Dora ." * (1 + i % 7)
        raise BrokenError

    found: list[list[Entity]] = []
    with pytest.raises(BrokenError):
        found.extend(recogniser.pipe(texts()))
    assert len(found) == good
    assert all(found)


def workers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("roster")]


def endless() -> Iterator[str]:
    while True:
        yield "Anna went to Paris and saw the house with Carl . " * 40


def test_no_thread_is_left(recogniser: Recogniser) -> None:
    """At the end, when closed early, when dropped, and after an error."""
    list(recogniser.pipe(["Anna went to Paris ."] * 20))
    assert not workers()
    stream = recogniser.pipe(endless())
    next(stream)
    assert workers()
    stream.close()
    assert not workers()
    stream = recogniser.pipe(endless())
    next(stream)
    del stream
    gc.collect()
    assert not workers()


def test_the_callers_threads_stay_as_they_were(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        ner = load(trained, "cpu")
        assert ner.engine.workers == 2
        list(ner.pipe(["Anna went to Paris ."] * 5))
        assert torch.get_num_threads() == 2
        with ThreadPoolExecutor(1) as fresh:
            assert fresh.submit(torch.get_num_threads).result() == 2
    finally:
        torch.set_num_threads(before)


def test_several_threads_may_ask(recogniser: Recogniser) -> None:
    texts = [f"Anna went to Paris and saw {'the house with ' * (i % 5)}Carl ." for i in range(200)]
    alone = list(recogniser.pipe(texts))
    with ThreadPoolExecutor(4) as several:
        for found in several.map(lambda _: list(recogniser.pipe(texts)), range(8)):
            assert found == alone


def test_an_error_of_the_model_is_not_swallowed(
    recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arrays: object) -> None:
        raise MemoryError

    monkeypatch.setattr(recogniser.engine, "logits", broken)
    with pytest.raises(MemoryError):
        list(recogniser.pipe(["Anna went to Paris ."]))
    assert not workers()


def test_a_megabyte_on_one_line(recogniser: Recogniser) -> None:
    """Without a full stop: one sentence of many windows, after characters outside the basic plane."""
    text = "\U0001f468\u200d\U0001f680 " * 9 + "Anna went to Paris and then " * 2**15
    assert len(text) > 9e5
    found = recogniser(text)
    assert all(text[e.start : e.end] == e.text for e in found)
    assert sum(e.text == "Anna" for e in found) > 0.9 * 2**15
    assert found[-1].start > len(text) - 40


def test_one_document_or_several(recogniser: Recogniser) -> None:
    """A text has the entities of its paragraphs, each at its place."""
    parts = [
        "Anna went to Paris.",
        "Then Carl and Dora saw Rome. They went to Bonn!",
        "",
        "Berg met Anna.",
    ] * 9
    whole, at, expected = "\n\n".join(parts), 0, []
    for part, found in zip(parts, recogniser.pipe(parts), strict=True):
        expected += [Entity(e.text, e.label, at + e.start, at + e.end, e.score) for e in found]
        at += len(part) + 2
    assert len(expected) > 20
    assert recogniser(whole) == expected


def test_of_a_long_document_only_text_and_entities_are_kept(
    recogniser: Recogniser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is not measured: its answer is `O` for each word."""
    answer = np.zeros((1, recogniser.engine.facts.classes), np.float32)
    answer[0, 0] = -9 if recogniser.engine.facts.kind == "two-heads" else 9
    monkeypatch.setattr(recogniser.engine, "logits", lambda ids, mask, at: answer[[0] * len(at)])

    def peak(characters: int) -> int:
        text = "they went to the house. " * (characters // 24)
        tracemalloc.start()
        try:
            (record,) = records(recogniser.find(sentences(text), chunk_words=1000))
            found = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert record == {"text": text, "spans": []}
        return found

    peak(1000)
    assert peak(240_000) < peak(80_000) + 2_000_000  # 6 million if the sentences were kept


def test_only_signs(recogniser: Recogniser) -> None:
    for text in ("...", "?!", "\u200b", "\U0001f600\U0001f680", "- - -", "\x00"):
        assert all(text[e.start : e.end] == e.text for e in recogniser(text))


@given(sizes=st.lists(st.integers(0, 9), max_size=20), words=st.integers(1, 12))
def test_chunks(sizes: list[int], words: int) -> None:
    sentences = [Sentence.from_words(["a"] * n) for n in sizes]
    found = [chunk for chunk, error in chunks(sentences, words) if error is None]
    assert [s for chunk in found for s in chunk] == sentences
    for chunk in found:
        assert chunk
        # It ended with the sentence that filled it.
        assert sum(len(s) + 1 for s in chunk[:-1]) < words
