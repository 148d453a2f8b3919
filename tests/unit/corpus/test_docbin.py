"""spaCy's documents."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from roster.corpus import Span, read, write
from roster.corpus.tokenizer import split
from roster.errors import DataError, RosterError

spacy = pytest.importorskip("spacy")


def test_documents_that_spacy_made(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    doc = nlp("Ada  Lovelace's pen.\n\nIt broke.")
    doc.ents = [doc.char_span(0, 13, label="PER")]
    spacy.tokens.DocBin(docs=[doc, nlp("No entities known")]).to_disk(tmp_path / "a.spacy")
    first, second, third = read(tmp_path / "a.spacy")
    assert first.words == ("Ada", "Lovelace", "'s", "pen", ".")
    assert first.spans == (Span(0, 2, "PER"),)
    assert (first.text, first.doc, second.doc) == (doc.text, "1", "1")
    assert second.words == ("It", "broke", ".")
    assert (third.spans, third.doc) == (None, "2")


def test_spacy_reads_what_we_write(tmp_path: Path) -> None:
    text = " Ada \t Lovelace's pen.\nIt broke.  "
    write(tmp_path / "a.spacy", split(text, "x", [(1, 15, "PER")]))
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "a.spacy").get_docs(spacy.blank("en").vocab)
    assert doc.text == text
    assert [(e.start_char, e.end_char, e.label_) for e in doc.ents] == [(1, 15, "PER")]
    assert len(list(doc.sents)) == 2


def test_broken_file(tmp_path: Path) -> None:
    (tmp_path / "a.spacy").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"a\.spacy: expected a spaCy DocBin"):
        list(read(tmp_path / "a.spacy"))


def test_without_spacy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.spacy").touch()
    monkeypatch.setitem(sys.modules, "spacy.tokens", None)
    with pytest.raises(RosterError, match=r'pip install "roster-ner\[spacy\]"'):
        list(read(tmp_path / "a.spacy"))


def test_a_sentence_may_begin_with_a_blank_token(tmp_path: Path) -> None:
    starts = [True, False, True, False]
    doc = spacy.tokens.Doc(
        spacy.vocab.Vocab(), words=["a", "b", "\n", "c"], spaces=[True] * 4, sent_starts=starts
    )
    spacy.tokens.DocBin(docs=[doc], attrs=["SENT_START"]).to_disk(tmp_path / "a.spacy")
    assert [s.words for s in read(tmp_path / "a.spacy")] == [("a", "b"), ("c",)]
