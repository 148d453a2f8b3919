"""A corpus as ids on disk, against a plain loop over its documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.errors import ConfigError, DataError
from roster.pretraining import tokens
from roster.pretraining.documents import held_out, split_position
from roster.pretraining.tokens import TokenisedCorpus, token_counts, tokenise

DOCUMENTS = [
    f"Report {i}: Ada met Bo in Zürich.\n  They ate {i % 7} plums  and left.\n[SEP] {'on ' * (i % 5)}"
    for i in range(60)
]
KINDS = ("wordpiece", "bpe", "bpe-prefix", "unigram")


def reference(documents: list[str], tokenizer: Any, separator: int) -> list[list[int]]:
    """Ids of each document, one paragraph at a time through the tokenizer's own call."""
    special = set(tokenizer.all_special_ids)
    found = []
    for document in documents:
        ids = []
        for paragraph in document.split("\n"):
            pieces = tokenizer(" " + paragraph, add_special_tokens=False, split_special_tokens=True).input_ids
            ids += [tokenizer.unk_token_id if i in special else i for i in pieces]
        found.append([*ids, separator])
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [1, 100, 1 << 20])
def test_the_files_hold_every_document(
    kind: str, batch: int, tokenizers: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "BATCH", batch)
    tokenizer, lines = tokenizers[kind], []
    separator = tokenizer.sep_token_id
    found = tokenise(iter(DOCUMENTS), tokenizer, tmp_path / "t", separator=separator, valid_share=0.2,
                     log=lines.append)  # fmt: skip
    ids = reference(DOCUMENTS, tokenizer, separator)
    apart = [held_out(document, 0.2) for document in DOCUMENTS]
    assert 0 < sum(apart) < 30
    train = [i for one, out in zip(ids, apart, strict=True) if not out for i in one]
    valid = [i for one, out in zip(ids, apart, strict=True) if out for i in one]
    assert (tmp_path / "t" / "train.bin").read_bytes() == np.array(train, "<u2").tobytes()
    assert (tmp_path / "t" / "valid.bin").read_bytes() == np.array(valid, "<u2").tobytes()
    assert found.train.tolist() == train
    assert found.valid.tolist() == valid
    assert not found.train.flags.writeable
    unknown = sum(i == tokenizer.unk_token_id for i in (*train, *valid))
    assert json.loads((tmp_path / "t" / "tokens.json").read_text()) == {
        "dtype": "<u2", "train": len(train), "valid": len(valid), "documents": 60 - sum(apart),
        "valid_documents": sum(apart), "characters": sum(map(len, DOCUMENTS)),
        "words": sum(len(document.split()) for document in DOCUMENTS), "unknown": unknown,
    }  # fmt: skip
    (line,) = lines
    assert line.startswith("tokenised 60 documents (")
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]


def test_no_text_is_a_special_token(tokenizers: dict[str, Any], tmp_path: Path) -> None:
    for kind in KINDS:
        tokenizer = tokenizers[kind]
        text = " ".join(tokenizer.all_special_tokens) * 2
        found = tokenise([text], tokenizer, tmp_path / kind, separator=tokenizer.sep_token_id, valid_share=0)
        *inner, last = found.train.tolist()
        assert set(inner) & set(tokenizer.all_special_ids) <= {tokenizer.unk_token_id}
        assert last == tokenizer.sep_token_id


def test_a_word_is_the_same_at_the_start_of_a_line(tokenizers: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = tokenizers["bpe"]
    found = tokenise(["Ada met\nAda met"], tokenizer, tmp_path / "t", separator=9, valid_share=0).train
    assert found[: len(found) // 2].tolist() == found[len(found) // 2 : -1].tolist()


def test_the_tokenizer_stays_as_it_is(
    tokenizers: dict[str, Any], tmp_path: Path, recwarn: pytest.WarningsRecorder, capfd: pytest.CaptureFixture
) -> None:
    """Truncation and padding left on by an earlier call neither count nor change, and nothing is said."""
    tokenizer = tokenizers["wordpiece"]
    backend = tokenizer.backend_tokenizer
    text = "Ada met Bo. " * 3000
    plain = len(tokenise([text], tokenizer, tmp_path / "a", separator=3, valid_share=0).train)
    backend.enable_truncation(8)
    backend.enable_padding(length=16)
    before = backend.to_str()
    try:
        assert len(tokenise([text], tokenizer, tmp_path / "b", separator=3, valid_share=0).train) == plain
        assert token_counts([text], tokenizer, 10**6).sum() == plain - 1
        assert backend.to_str() == before
    finally:
        backend.no_truncation()
        backend.no_padding()
    assert plain > 9000
    # An object of an earlier test may be collected at this moment, and warn that it was not closed.
    said = [str(warning.message) for warning in recwarn if warning.category is not ResourceWarning]
    assert said == []
    assert capfd.readouterr() == ("", "")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "Bo met\nAda", "plums", "x y z\n\nw", "Zürich 7", "on"]), min_size=1, max_size=6
    ),
    st.sampled_from([0.0, 0.001, 0.5, 0.999]),
    st.integers(1, 30),
)
def test_neither_side_is_empty(
    tokenizers: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[str],
    share: float,
    copied: int,
) -> None:
    tokenizer, folder = tokenizers["bpe"], tmp_path_factory.mktemp("sides") / "t"
    ids = reference(documents, tokenizer, 3)
    places = [split_position(document) for document in documents]
    valid = [i for i, where in enumerate(places) if where < share]
    if len(valid) == len(documents):
        valid.remove(max(valid, key=lambda i: (places[i], -i)))
    elif not valid and share and len(documents) > 1:
        valid = [min(range(len(documents)), key=lambda i: (places[i], i))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "COPIED", copied)
        found = tokenise(documents, tokenizer, folder, separator=3, valid_share=share)
    assert found.valid.tolist() == [t for i in valid for t in ids[i]]
    rest = sorted(set(range(len(documents))) - set(valid))
    assert found.train.tolist() == [t for i in rest for t in ids[i]]
    assert (found.facts.documents, found.facts.valid_documents) == (len(rest), len(valid))
    assert (found.facts.train, found.facts.valid) == (len(found.train), len(found.valid))


def test_documents_without_tokens_are_left_out(tokenizers: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = tokenizers["wordpiece"]
    found = tokenise(
        ["\x07", "Ada\n\x07\nmet", "\x08"], tokenizer, tmp_path / "t", separator=3, valid_share=0
    )
    assert found.facts.documents == 1
    assert found.train.tolist() == reference(["Ada\nmet"], tokenizer, 3)[0]
    for documents in ([], ["\x07"]):
        with pytest.raises(DataError, match="the text has no tokens"):
            tokenise(documents, tokenizer, tmp_path / "none", separator=3, valid_share=0)
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]


def test_large_vocabularies_take_four_bytes(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    for size, dtype in ((65_536, "<u2"), (65_537, "<u4")):
        model = Tokenizer(models.WordLevel({f"w{i}": i for i in range(size)}, unk_token="w0"))
        model.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, unk_token="w0", sep_token="w1")
        text = f"w{size - 1} w7 nothing"
        found = tokenise([text], tokenizer, tmp_path / "t", separator=1, valid_share=0)
        assert found.train.tolist() == [size - 1, 7, 0, 1]
        assert found.train.dtype == np.dtype(dtype)
        assert found.facts.unknown == 1
        assert len(token_counts([text], tokenizer, 99)) == size


def test_an_error_on_the_way_leaves_what_was_there(tokenizers: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = tokenizers["bpe"]

    def broken() -> Iterator[str]:
        yield "Ada met Bo."
        raise DataError("not UTF-8", path="a.txt", line=3)

    tokenise(["Bo"], tokenizer, tmp_path / "t", separator=3, valid_share=0)
    before = TokenisedCorpus.load(tmp_path / "t").train.tolist()
    with pytest.raises(DataError, match=r"a\.txt, line 3: not UTF-8"):
        tokenise(broken(), tokenizer, tmp_path / "t", separator=3, valid_share=0)
    assert TokenisedCorpus.load(tmp_path / "t").train.tolist() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "t"]


@pytest.mark.parametrize("share", [-0.1, 1, float("nan")])
def test_shares_that_are_none(share: float, tokenizers: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be at least 0 and below 1"):
        tokenise(DOCUMENTS, tokenizers["bpe"], tmp_path / "t", separator=3, valid_share=share)


def test_damaged_folders(tokenizers: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "t"

    def damage(file: str, data: bytes | None) -> str:
        tokenise(DOCUMENTS, tokenizers["bpe"], folder, separator=3, valid_share=0.2)
        if data is None:
            (folder / file).unlink()
        else:
            (folder / file).write_bytes(data)
        with pytest.raises(DataError) as error:
            TokenisedCorpus.load(folder)
        said = str(error.value)
        assert said.startswith(f"{folder / file}: ")
        assert said.endswith("delete the folder to tokenise the text again")
        return said

    for file in ("train.bin", "valid.bin", "tokens.json"):
        assert "no such file" in damage(file, None)
    for file in ("train.bin", "valid.bin"):
        assert "3 bytes do not match the" in damage(file, b"abc")
    for data in (b"{", b"[]", b"{}", b'{"dtype": 1}', b"\xff"):
        assert "not a description of tokens" in damage("tokens.json", data)
    facts = dict.fromkeys(
        ("train", "valid", "documents", "valid_documents", "characters", "words", "unknown"), 1
    )
    assert "unknown dtype '<f4'" in damage("tokens.json", json.dumps({"dtype": "<f4", **facts}).encode())
    with pytest.raises(DataError, match="no such file"):
        TokenisedCorpus.load(tmp_path / "nowhere")


def test_counts_are_those_of_the_first_characters(tokenizers: dict[str, Any]) -> None:
    for kind in KINDS:
        tokenizer = tokenizers[kind]
        for characters in (0, 30, len(DOCUMENTS[0]), len(DOCUMENTS[0]) + 11, 10**9):
            whole, left = [], characters
            for document in DOCUMENTS:
                whole.append(document[:left])
                left = max(0, left - len(document))
            ids = [i for one in reference([d for d in whole if d], tokenizer, 0) for i in one[:-1]]
            wanted = np.bincount(np.array(ids, int), minlength=len(tokenizer))
            assert token_counts(iter(DOCUMENTS), tokenizer, characters).tolist() == wanted.tolist()
