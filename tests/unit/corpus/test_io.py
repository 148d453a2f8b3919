"""All formats through the one door: round trips, recognition, laziness, nothing half-written."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus import FORMATS, Sentence, Span, detect, read, write
from roster.corpus.formats.textfile import utf16_without_mark
from roster.corpus.tokenizer import split
from roster.errors import ConfigError, DataError

FILES = {
    "lines": "train_text.txt",
    "conll": "a.conll",
    "bond": "a.json",
    "ck": "a.ck",
    "rawwords": "a.words",
    "jsonl": "a.jsonl",
    "parquet": "a.parquet",
    "arrow": "saved",
    "docbin": "a.spacy",
    "text": "a.txt",
    "doccano": "a.doccano.jsonl",
    "labelstudio": "a.labelstudio.json",
    "prodigy": "a.prodigy.jsonl",
    "argilla": "a.argilla.json",
    "brat": "a.brat",
}
TOOLS = ("doccano", "labelstudio", "prodigy", "argilla")
TAGGED = ("lines", "conll", "bond", "ck", "jsonl", "parquet", "arrow", "docbin", *TOOLS)
SEPARATED = ("lines", "conll", "ck", "rawwords")  # white space separates their fields
WORDLESS = (
    "lines",
    "bond",
    "ck",
    "jsonl",
    "parquet",
    "arrow",
    "docbin",
    *TOOLS,
)  # can hold a sentence without words
EXACT = ("jsonl", "parquet", "arrow", "docbin", *TOOLS)  # keep the text between the words

UNSTREAMED = (
    "docbin",
    "brat",
    "doccano",
    "argilla",
)  # the last two share all of it with prodigy, labelstudio

ANY = st.characters(exclude_categories=["Cs"])
ODD = st.sampled_from(list("\ufeff\u2028\x85\x0b\x0c\x1c\xa0\u3000\x00\"'<#-\\"))
WORD = st.text(ODD | ANY, min_size=1, max_size=6)
PLAIN = WORD.filter(lambda w: not set(w) & set(" \t\r\n") and w != "-DOCSTART-")
PROSE = st.text(st.sampled_from(list("aB. !?'\n\t é1-\u3000日。")) | ANY, max_size=40)


@st.composite
def sentences(draw: st.DrawFn, word: st.SearchStrategy[str], min_size: int = 0) -> Sentence:
    words = draw(st.lists(word, min_size=min_size, max_size=6))
    spans, at = [], 0
    while at < len(words) and draw(st.booleans()):
        start = draw(st.integers(at, len(words) - 1))
        at = draw(st.integers(start + 1, len(words)))
        spans.append(Span(start, at, draw(PLAIN.filter(lambda label: label != "None"))))
    return Sentence.from_words(words, spans)


def corpora(name: str) -> st.SearchStrategy[list[Sentence]]:
    word = PLAIN if name in SEPARATED else WORD.filter(str.strip) if name == "docbin" else WORD
    return st.lists(sentences(word, 0 if name in WORDLESS else 1), max_size=5)


def content(items: list[Sentence]) -> list[object]:
    return [(s.words, s.spans) for s in items]


@pytest.mark.parametrize("name", TAGGED)
@settings(max_examples=80)
@given(data=st.data())
def test_words_and_spans_survive(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / FILES[name]
    corpus = data.draw(corpora(name))
    write(path, corpus, name)
    found = list(read(path, name))
    assert content(found) == content(corpus)
    assert all(s.text[a:b] == w for s in found for w, (a, b) in zip(s.words, s.offsets, strict=True))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("ck", "text", "brat")])
@settings(max_examples=40)
@given(data=st.data())
def test_unlabelled_words_survive(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / FILES[name]
    corpus = [s.with_spans(None) for s in data.draw(corpora(name))]
    if name == "docbin":  # spaCy cannot say whether a document without words has labels
        corpus = [s for s in corpus if s.words]
    write(path, corpus, name)
    assert content(list(read(path, name))) == content(corpus)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=60)
@given(data=st.data())
def test_prose_survives(name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("round") / FILES[name]
    corpus: list[Sentence] = []
    for number, text in enumerate(data.draw(st.lists(PROSE, max_size=4)), 1):
        solid = [i for i, c in enumerate(text) if not c.isspace()]
        spans = []
        if solid and data.draw(st.booleans()):
            a, b = sorted((data.draw(st.sampled_from(solid)), data.draw(st.sampled_from(solid))))
            spans = [(a, b + 1, "X")]
        corpus += split(text, str(number), spans)
    write(path, corpus, name)
    found = list(read(path, name))
    if name in ("jsonl", "docbin", *TOOLS):  # whole documents
        assert found == corpus
    else:  # each sentence with its own piece of the text
        assert content(found) == content(corpus)
        assert [s.doc for s in found] == [s.doc for s in corpus]
        for s, before in zip(found, corpus, strict=True):
            start = before.offsets[0][0] if before.words else 0
            assert s.offsets == tuple((a - start, b - start) for a, b in before.offsets)


@settings(max_examples=100)
@given(st.lists(PROSE.map(lambda t: t.replace("\n", " ").rstrip("\r")), max_size=5))
def test_lines_of_text_survive(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("round") / "a.txt"
    corpus = [s for number, text in enumerate(texts, 1) for s in split(text, str(number))]
    write(path, corpus, "text")
    assert list(read(path, "text")) == corpus


@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOES"])
@pytest.mark.parametrize("name", ["lines", "conll", "bond", "parquet"])
def test_schemes(tmp_path: Path, name: str, scheme: str) -> None:
    corpus = [Sentence.from_words(["a", "b", "c", "d"], [Span(0, 2, "PER"), Span(2, 3, "PER")])]
    write(tmp_path / FILES[name], corpus, name, scheme)  # type: ignore[arg-type]
    assert content(list(read(tmp_path / FILES[name], scheme=scheme))) == content(corpus)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="scheme IO has there"):
        list(read(tmp_path / FILES[name], scheme="IO"))


@pytest.mark.parametrize("name", TAGGED)
def test_written_files_are_recognised(tmp_path: Path, name: str) -> None:
    corpus = [Sentence.from_words(["Ada", "saw", "Bo", "."], [Span(0, 1, "PER")])] * 3
    write(tmp_path / FILES[name], corpus, name)
    assert detect(tmp_path / FILES[name]) == name
    if name != "arrow":
        assert content(list(read(tmp_path / FILES[name]))) == content(corpus)


def test_names_say_what_to_write(tmp_path: Path) -> None:
    corpus = [Sentence.from_words(["Ada"], [Span(0, 1, "PER")])]
    for name in (
        "valid_text.txt",
        "x_label_true.txt",
        "a.conll",
        "a.json",
        "a.ck",
        "a.jsonl",
        "a.parquet",
        "a.arrow",
        *(FILES[tool] for tool in TOOLS),
        "a.brat",
    ):
        write(tmp_path / name, corpus)
        assert (tmp_path / name).exists()
        assert [s.spans for s in read(tmp_path / name)] == [corpus[0].spans]
    for name in ("a.txt", "a", "a.xyz"):
        with pytest.raises(DataError, match=r"a.*which of lines, conll.*--to"):
            write(tmp_path / name, corpus)


def test_an_unknown_file_lists_the_formats(tmp_path: Path) -> None:
    file = tmp_path / "a.xyz"
    file.write_text("what is this\n")
    with pytest.raises(DataError, match=r"a\.xyz: .*lines, conll, bond.*--format"):
        read(file)
    assert [s.words for s in read(file, "text")] == [("what", "is", "this")]


def test_an_ambiguous_file_lists_the_candidates(tmp_path: Path) -> None:
    write(tmp_path / "saved", [Sentence.from_words(["a"], [])], "arrow")
    (tmp_path / "saved" / "a.txt").write_text("a\n")
    with pytest.raises(DataError, match=r"could be arrow or text.*--format"):
        detect(tmp_path / "saved")


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_a_missing_file_is_said_at_once(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(DataError, match=r"none\.txt: no such file"):
        read(tmp_path / "none.txt", name)


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(ConfigError, match="unknown format 'word'; known are lines"):
        read(tmp_path / "a.txt", "word")
    with pytest.raises(ConfigError, match="unknown tagging scheme 'BILOU'"):
        write(tmp_path / "a.conll", [], scheme="BILOU")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FORMATS)
def test_an_error_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    def source() -> Iterator[Sentence]:
        for _ in range(2000):
            yield Sentence.from_words(["new"], [])
        raise DataError("broken")

    path = tmp_path / FILES[name]
    write(path, [Sentence.from_words(["old"], [])] * 2, name)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(DataError, match="broken"):
        write(path, source(), name)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in UNSTREAMED])
def test_sentences_stream_through(tmp_path: Path, name: str) -> None:
    """A file is read as it is asked for, and written as it comes: no more than a batch is in between."""
    total, asked, most = 12_000, 0, 0

    def source() -> Iterator[Sentence]:
        for i in range(total):
            yield Sentence.from_words(["word" * 50, str(i)], [])

    write(tmp_path / FILES[name], source(), name)

    def watched() -> Iterator[Sentence]:
        nonlocal asked
        for sentence in read(tmp_path / FILES[name], name):
            asked += 1
            yield sentence

    first = next(iter(watched()))
    assert asked == 1
    assert first.words[-1] == "0"

    made = 0

    def counted() -> Iterator[Sentence]:
        nonlocal made, most
        for sentence in source():
            made += 1
            parts = [p.stat().st_size for p in tmp_path.rglob("*") if ".part" in str(p) and p.is_file()]
            if made == total // 2:
                most = sum(parts)
            yield sentence

    if name != "parquet":  # a row group is held until it is full
        write(tmp_path / FILES[name], counted(), name)
        assert most > 0


@pytest.mark.parametrize("name", SEPARATED)
@pytest.mark.parametrize("word", ["a b", "a\tb", "a\r", "\n", ""])
def test_words_that_a_format_cannot_hold_are_refused(tmp_path: Path, name: str, word: str) -> None:
    corpus = [Sentence.from_words(["ok"], []), Sentence.from_words([word], [])]
    with pytest.raises(DataError, match=r"sentence 2: the word .* cannot write; use jsonl"):
        write(tmp_path / FILES[name], corpus, name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["lines", "conll", "bond", "ck", "parquet", "docbin"])
def test_overlapping_spans_are_refused_where_tags_are_written(tmp_path: Path, name: str) -> None:
    corpus = [Sentence.from_words(["a", "b", "c"], [Span(0, 2, "X"), Span(1, 3, "Y")])]
    with pytest.raises(DataError, match=r"sentence 1: .*overlap"):
        write(tmp_path / FILES[name], corpus, name)
    assert not any(tmp_path.iterdir())
    write(tmp_path / "a.jsonl", corpus)
    assert content(list(read(tmp_path / "a.jsonl"))) == content(corpus)


@pytest.mark.parametrize("name", ["lines", "conll", "bond", "jsonl", "parquet", "brat", *TOOLS])
def test_half_a_surrogate_pair_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="half of a surrogate pair"):
        write(tmp_path / FILES[name], [Sentence.from_words(["a\ud800"], [])], name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["lines", "conll", "ck", "rawwords", "jsonl", "text"])
@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_byte_order_mark_and_line_ends(tmp_path: Path, name: str, ends: str) -> None:
    path = tmp_path / FILES[name]
    write(path, [Sentence.from_words(["Ada", "saw\x85Bo\u2028"], [])] * 2, name)
    expected = list(read(path, name))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", ends.encode()))
    assert list(read(path, name)) == expected
    path.write_bytes(path.read_bytes().removesuffix(ends.encode()))
    assert list(read(path, name)) == expected


@pytest.mark.parametrize("name", ["lines", "conll", "ck", "rawwords", "jsonl", "text", "bond", *TOOLS])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_with_a_byte_order_mark(tmp_path: Path, name: str, encoding: str) -> None:
    """More than is looked at to guess the format, with letters that take two, three and four bytes."""
    path = tmp_path / FILES[name]
    words = ["Ada", "sågł日本🦜", "x" * 2_000, "."]
    write(path, [Sentence.from_words(words, [Span(0, 1, "PER")])] * 40, name)
    expected, format = list(read(path)), detect(path)
    for file in tmp_path.iterdir():
        file.write_bytes(("\ufeff" + file.read_text(encoding="utf-8")).encode(encoding))
    assert (list(read(path)), detect(path)) == (expected, format)


@pytest.mark.parametrize(
    ("encoding", "end", "reason"),
    [
        ("utf-16-le", b"\x3d\xd8", "unexpected end of data"),
        ("utf-16-be", b"\xdc\x00b\x00", "illegal encoding"),
    ],
)
def test_broken_utf16_is_located(tmp_path: Path, encoding: str, end: bytes, reason: str) -> None:
    text = "\ufeff" + "word\n" * 20_000
    (tmp_path / "a.txt").write_bytes(text.encode(encoding) + end)
    message = rf"a\.txt, line 20001: not UTF-16, .*: {reason} at byte position {2 * len(text)} of"
    with pytest.raises(DataError, match=message):
        list(read(tmp_path / "a.txt", "text"))


@pytest.mark.parametrize("name", ["lines", "conll", "ck", "rawwords", "jsonl", "text", "bond", *TOOLS])
@pytest.mark.parametrize(("encoding", "known"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")])
@pytest.mark.parametrize("word", ["Ada", "Москва", "日本一"])
def test_utf16_without_a_byte_order_mark(
    tmp_path: Path, name: str, encoding: str, known: str, word: str
) -> None:
    path = tmp_path / FILES[name]
    write(path, [Sentence.from_words([word, "."], [Span(0, 1, "PER")])] * 300, name)
    for file in tmp_path.iterdir():
        file.write_bytes(file.read_text(encoding="utf-8").encode(encoding))
    message = rf"seems to be {known} without a byte order mark; convert it: iconv -f {known} -t UTF-8 "
    for format in (name, None):
        with pytest.raises(DataError, match=message):
            list(read(path, format))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0",
        b"\0 \0\n" * 9,
        b"a\0",
        b"Ada left\0\nBoris came\n",
        b"Oslo\tLOC\nLi\0ma\tLOC\n",
        bytes(range(256)) * 10,
        struct.pack("<200i", *range(0, 600, 3)),
        "Łódź 日本\n".encode() * 100,
        ("\ufeff" + "Ada left .\n").encode("utf-16-le"),
        "Ada left .\n".encode("utf-32-le"),
    ],
)
def test_what_is_not_taken_for_utf16_without_a_mark(raw: bytes) -> None:
    assert utf16_without_mark(raw) is None


@pytest.mark.parametrize("name", ["lines", "conll", "ck", "rawwords", "jsonl", "text", "bond", *TOOLS])
def test_bytes_that_are_not_utf8_are_located(tmp_path: Path, name: str) -> None:
    path = tmp_path / FILES[name]
    write(path, [Sentence.from_words(["Ada", "xyz"], [])] * 3, name)
    raw = path.read_bytes()
    at = raw.rindex(b"xyz") + 1
    path.write_bytes(raw[:at] + b"\xe9" + raw[at + 1 :])
    line = raw.count(b"\n", 0, at) + 1
    with pytest.raises(
        DataError, match=rf"{FILES[name]}, line {line}: not UTF-8: byte 0xe9 at byte position {at} "
    ):
        list(read(path, name))


@pytest.mark.parametrize("name", ["lines", "conll", "ck", "rawwords", "text", "jsonl", "bond", *TOOLS])
def test_a_first_word_that_is_a_byte_order_mark_survives(tmp_path: Path, name: str) -> None:
    """But in plain text, whose words are those of our tokenizer."""
    write(tmp_path / FILES[name], [Sentence.from_words(["\ufeff", "Ada"], [])], name)
    expected = ("Ada",) if name == "text" else ("\ufeff", "Ada")
    assert [s.words for s in read(tmp_path / FILES[name], name)] == [expected]


def test_a_data_set_in_a_folder_is_not_a_text(tmp_path: Path) -> None:
    """`roster label` writes one; its list of types was taken for a text."""
    (tmp_path / "types.txt").write_text("LOC\nPER\n")
    assert detect(tmp_path) == "text"  # a folder with one text
    write(tmp_path / "train.jsonl", [Sentence.from_words(["Oslo"], [Span(0, 1, "LOC")])])
    write(tmp_path / "dev.conll", [Sentence.from_words(["Oslo"], [Span(0, 1, "LOC")])])
    for use in (detect, lambda path: list(read(path))):
        with pytest.raises(DataError, match=r"a data set in a folder.*dev\.conll, train\.jsonl"):
            use(tmp_path)
    assert [s.words for s in read(tmp_path / "train.jsonl")] == [("Oslo",)]
