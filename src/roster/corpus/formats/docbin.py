"""spaCy's `DocBin`: documents with words, white space, entities and sentence borders.

The format has no names of documents, so `doc` is their number. It cannot be streamed, because spaCy reads and
writes whole files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from roster.corpus.formats.base import Format, Options, encode
from roster.corpus.formats.records import documents
from roster.corpus.formats.textfile import opened
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import at_borders, locate, split
from roster.errors import DataError, RosterError
from roster.files import atomic
from roster.unpacking import check_zlib

ATTRIBUTES = ("ENT_IOB", "ENT_TYPE", "SENT_START")


def _spacy() -> tuple[Any, Any, Any]:
    try:
        from spacy.tokens import Doc, DocBin
        from spacy.vocab import Vocab
    except ImportError as error:
        raise RosterError('.spacy files need spaCy: pip install "roster-ner[spacy]"') from error
    return Doc, DocBin, Vocab


def detect(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == ".spacy"


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences as spaCy marked them, else those of our tokenizer; spaCy's blank tokens are skipped."""
    _, DocBin, Vocab = _spacy()
    with opened(path) as file:
        raw = file.read()
    try:
        check_zlib(raw, path)
        docs = DocBin().from_bytes(raw).get_docs(Vocab())
    except DataError:
        raise
    except Exception as error:  # zlib, msgpack and spaCy each raise their own
        raise DataError(f"expected a spaCy DocBin: {error}", path=path) from error
    for number, doc in enumerate(docs, 1):
        try:
            sentences = sentences_of_doc(doc, str(number), labelled=True)
        except ValueError as error:
            raise DataError(f"document {number}: {error}", path=path) from error
        yield from sentences


def sentences_of_doc(doc: Any, name: str = "", *, labelled: bool = False) -> list[Sentence]:
    """The sentences of a spaCy document, whose words are its tokens.

    Args:
        doc: a `spacy.tokens.Doc`. Tokens of white space are no words. Its sentence boundaries are used where
            they are set; otherwise our sentence splitter finds them.
        name: the name of the document.
        labelled: read its entities, if it has any annotation of them.

    Returns:
        One sentence or more.

    Raises:
        ValueError: an entity goes over the end of a sentence.

    >>> from spacy.tokens import Doc
    >>> from spacy.vocab import Vocab
    >>> doc = Doc(Vocab(), words=["Ada", "ran", ".", "Ben", "won"], sent_starts=[1, 0, 0, 1, 0])
    >>> [s.words for s in sentences_of_doc(doc)]
    [('Ada', 'ran', '.'), ('Ben', 'won')]
    """
    text = doc.text
    words = [token for token in doc if not token.text.isspace()]
    offsets = [(token.idx, token.idx + len(token)) for token in words]
    chars = None
    if labelled and doc.has_annotation("ENT_IOB"):
        chars = [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
    if not doc.has_annotation("SENT_START") or not words:
        return split(text, name, chars, offsets)
    borders = _borders(doc)
    spans = None if chars is None else locate(text, offsets, chars)
    return at_borders(text, offsets, [0, *borders, len(words)], spans, name)


def _borders(doc: Any) -> list[int]:
    """Indices of the words that begin a sentence, without the first; a blank token may precede them."""
    borders, index, begins = [], 0, False
    for token in doc:
        begins = begins or bool(token.is_sent_start)
        if not token.text.isspace():
            if begins and index:
                borders.append(index)
            index, begins = index + 1, False
    return borders


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    Doc, DocBin, Vocab = _spacy()
    vocab = Vocab()
    bin = DocBin(attrs=ATTRIBUTES)
    number = 1
    for group in documents(sentences):
        words, spaces, starts, tags = _tokens(group, path, number)
        labelled = group[0].spans is not None
        bin.add(Doc(vocab, words=words, spaces=spaces, sent_starts=starts, ents=tags if labelled else None))
        number += len(group)
    with atomic(path, "wb") as file:
        file.write(bin.to_bytes())


def _tokens(
    group: Sequence[Sentence], path: Path, number: int
) -> tuple[list[str], list[bool], list[bool], list[str]]:
    """Words, and blank tokens for all white space that is more than one space after a word."""
    text, at = group[0].text, 0
    words: list[str] = []
    spaces: list[bool] = []
    starts: list[bool] = []
    tags: list[str] = []

    def gap(white: str, tag: str) -> None:
        if words and white.startswith(" "):
            spaces[-1], white = True, white[1:]
        if white:
            words.append(white)
            spaces.append(False)
            starts.append(len(words) == 1)
            tags.append(tag)

    for n, sentence in enumerate(group, number):
        if (sentence.spans is None) != (group[0].spans is None):
            raise DataError(f"sentence {n}: a document has labels everywhere or nowhere", path=path)
        found = (
            encode(sentence, Options(), path=path, number=n)
            if sentence.spans is not None
            else [""] * len(sentence)
        )
        for i, (word, (start, end), tag) in enumerate(
            zip(sentence.words, sentence.offsets, found, strict=True)
        ):
            if text[at:start].strip() or not word.strip():
                raise DataError(
                    f"sentence {n}: spaCy needs words that make up the whole text, near {word!r}", path=path
                )
            gap(text[at:start], tag if tag.startswith("I-") else "O")  # inside an entity it belongs to it
            words.append(word)
            spaces.append(False)
            starts.append(i == 0 and (n > number or len(words) == 1))
            tags.append(tag)
            at = end
    gap(text[at:], "O")
    return words, spaces, starts, tags


FORMAT = Format("docbin", "spaCy's DocBin", (".spacy",), detect, read, write)
