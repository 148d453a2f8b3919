"""One sentence per line, words separated by spaces, tags on the same line of a parallel file.

The label files of `train_text.txt` are `train_label_dist.txt` (distant labels) and `train_label_true.txt`
(true labels); `types.txt` lists the types. A label file can be read without its text, for evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path

from roster.corpus.formats.base import Format, Labels, Options, TagError, decode, encode, plain
from roster.corpus.formats.textfile import FIELD, head, read_lines, writer
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError

TEXT = "_text.txt"
LABEL_NAME = re.compile(r"(.*)_label(_\w+)?\.txt", re.DOTALL)
TAG = re.compile(r"O|[BIESLUM]-\S+")
PLACEHOLDER = "_"


def label_file(text: Path, labels: Labels) -> Path:
    """`train_text.txt`, `dist` -> `train_label_dist.txt`, in the same folder."""
    return text.with_name(f"{text.name.removesuffix(TEXT)}_label_{labels}.txt")


def holds_tags(path: Path) -> bool:
    """Whether a file has tags, not words: by its name, else by its first lines."""
    if LABEL_NAME.fullmatch(path.name) or path.name.endswith(TEXT):
        return not path.name.endswith(TEXT)
    fields = [field for line in head(path) for field in FIELD.findall(line)]
    return bool(fields) and all(map(TAG.fullmatch, fields))


def detect(path: Path) -> bool:
    """A text file needs a label file beside it (of any split), because prose may be called `my_text.txt`."""
    if path.is_dir():
        return any(path.glob(f"*{TEXT}")) and any(map(detect, path.glob(f"*{TEXT}")))
    if path.suffix != ".txt":
        return False
    if path.name.endswith(TEXT):
        return any(LABEL_NAME.fullmatch(other.name) for other in path.parent.glob("*_label*.txt"))
    if LABEL_NAME.fullmatch(path.name):
        return True
    return holds_tags(path) and any(len(FIELD.findall(line)) > 1 for line in head(path))


def read(path: Path, options: Options) -> Iterator[Sentence]:
    """Sentences in the order of the lines; a blank line is a sentence without words."""
    if path.is_dir():
        path = path / f"{options.split or 'train'}{TEXT}"
    if holds_tags(path):
        match = LABEL_NAME.fullmatch(path.name)
        text = path.with_name(f"{match[1]}{TEXT}") if match else None
        return _pairs(text, path, options) if text and text.exists() else _tags_only(path, options)
    labels = labels_of(path, options.labels)
    return _words_only(path) if labels is None else _pairs(path, labels, options)


def labels_of(text: Path, wanted: Labels | None) -> Path | None:
    """The label file that `read` takes for a text file; None if there is none or `wanted` is none."""
    if wanted == "none":
        return None
    if not text.name.endswith(TEXT):
        if wanted is None:
            return None
        raise DataError(f"only a file whose name ends in {TEXT} has labels beside it", path=text)
    if wanted is not None:
        return label_file(text, wanted)
    kinds: tuple[Labels, ...] = ("dist", "true")
    return next((file for kind in kinds if (file := label_file(text, kind)).exists()), None)


def _sentence(line: str) -> Sentence:
    fields = list(FIELD.finditer(line))
    return Sentence(tuple(f.group() for f in fields), tuple(f.span() for f in fields), line)


def _words_only(path: Path) -> Iterator[Sentence]:
    for _, line in read_lines(path):
        yield _sentence(line)


def _spans(tags: list[str], words: int, options: Options, path: Path, line: int) -> tuple[Span, ...]:
    try:
        return decode(tags, words, options.scheme)
    except TagError as error:
        raise DataError(str(error), path=path, line=line) from error


def _tags_only(path: Path, options: Options) -> Iterator[Sentence]:
    for number, line in read_lines(path):
        tags = FIELD.findall(line)
        spans = _spans(tags, len(tags), options, path, number)
        yield Sentence.from_words([PLACEHOLDER] * len(tags), spans)


def _pairs(text: Path, labels: Path, options: Options) -> Iterator[Sentence]:
    for words, tags in zip_longest(read_lines(text), read_lines(labels)):
        if words is None:
            if FIELD.search(tags[1]):
                raise DataError(
                    f"expected no more tags: {text} has no line {tags[0]}", path=labels, line=tags[0]
                )
            continue
        number, line = words
        if tags is None and FIELD.search(line):
            raise DataError(
                f"expected the tags of line {number} of {text}, found the end", path=labels, line=number
            )
        sentence = _sentence(line)
        found = FIELD.findall(tags[1]) if tags else []
        yield sentence.with_spans(_spans(found, len(sentence), options, labels, number))


def write(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """Words to `X_text.txt` and tags to the label file beside it; only tags where `path` is a label file.

    Without `options.labels`, the labels of `train` are distant and all others are true.
    """
    if LABEL_NAME.fullmatch(path.name):
        _write(None, path, sentences, options)
    elif path.name.endswith(TEXT):
        labels: Labels = options.labels or ("dist" if path.name.startswith("train") else "true")
        _write(path, label_file(path, labels), sentences, options)
    else:
        raise DataError(
            f"the name of a file of lines must end in {TEXT}, _label_dist.txt or _label_true.txt", path=path
        )


def _write(text: Path | None, labels: Path, sentences: Iterable[Sentence], options: Options) -> None:
    path = text or labels
    with ExitStack() as stack:
        put_text = stack.enter_context(writer(text)) if text else None
        put_tags = None
        for number, sentence in enumerate(sentences, options.first):
            if number == options.first and (sentence.spans is not None or text is None):
                put_tags = stack.enter_context(writer(labels))
            if put_text:
                put_text(" ".join(plain(w, "word", path=path, number=number) for w in sentence.words) + "\n")
            if put_tags:
                tags = encode(sentence, options, path=labels, number=number)
                put_tags(" ".join(plain(t, "tag", path=labels, number=number) for t in tags) + "\n")
            elif sentence.spans is not None:
                raise DataError(f"sentence {number} has labels and those before it have none", path=path)
        if text is None and put_tags is None:
            stack.enter_context(writer(labels))


FORMAT = Format("lines", "one sentence per line, tags in a parallel file", (), detect, read, write)
