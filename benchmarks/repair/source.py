"""A text with what it is labelled with, and the true labels that only the simulated person and the scores
see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roster.auditing.measure import known as known
from roster.config import read_toml
from roster.corpus.dataset import content
from roster.corpus.formats.base import Labels
from roster.corpus.formats.lines import TEXT
from roster.corpus.io import read
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError, DataError
from roster.files import file_digest, fingerprint

FILES = ("text", "gold", "valid", "test", "config")
NEEDED = ("text", "gold", "valid")


@dataclass(frozen=True)
class Source:
    """The files of a data set: `config` and `dictionaries` are those of `roster label`, `gold` has the true
    labels of the sentences of `text`, or of some of them."""

    name: str
    text: Path
    gold: Path
    valid: Path
    test: Path | None = None
    config: Path | None = None
    dictionaries: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of the text, as a measure of how long a training takes."""
        return self.text.stat().st_size

    def fingerprint(self) -> str:
        """A hash of the content of all files, also of those that the config names."""
        from roster.distant.settings import load_settings

        inputs = load_settings(self.config, dictionaries=self.dictionaries).inputs
        labelled = [content(true_sentences(path)) for path in (self.gold, self.valid, self.test) if path]
        words = [s.words for s in read(self.text, labels="none")]
        return fingerprint(words, labelled, [[path.name, file_digest(path)] for path in inputs])


def read_source(path: str | Path) -> Source:
    """Read a TOML file that names the files of a data set; paths are beside it.

    Raises:
        ConfigError: a key is unknown or missing, or has no value of its kind.
        DataError: a file does not exist.
    """
    path = Path(path)
    tree = read_toml(path)
    if unknown := set(tree) - {*FILES, "name", "dictionaries"}:
        raise ConfigError(
            f"{path}: unknown {', '.join(sorted(unknown))}; expected name, {', '.join(FILES)}, dictionaries"
        )
    for key in NEEDED:
        if key not in tree:
            raise ConfigError(f'{path}: {key} is missing, such as {key} = "{key}.jsonl"')
    values: dict[str, Any] = {"name": tree.get("name", path.stem)}
    listed = tree.get("dictionaries", [])
    if not isinstance(listed, list):
        raise ConfigError(f'{path}: dictionaries must be a list such as ["names.tsv"]')
    values["dictionaries"] = tuple(_file(path, "dictionaries", one) for one in listed)
    values |= {key: _file(path, key, tree[key]) for key in FILES if key in tree}
    return Source(**values)


def _file(toml: Path, key: str, value: Any) -> Path:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{toml}: {key} must name a file")
    path = toml.parent / value
    if not path.exists():
        raise DataError(f"no such file ({key} in {toml.name})", path=path)
    return path


def true_sentences(path: Path) -> list[Sentence]:
    """Return the sentences of a file with their true labels.

    Raises:
        DataError: a sentence has no labels.
    """
    beside: Labels | None = "true" if path.name.endswith(TEXT) else None
    found = [sentence for sentence in read(path, labels=beside) if sentence.words]
    if any(sentence.spans is None for sentence in found):
        raise DataError("the sentences need true labels", path=path)
    return found


def of_types(spans: Iterable[Span], types: Sequence[str]) -> tuple[Span, ...]:
    """Return the names that have one of these types, which are those that a person can give."""
    return tuple(sorted(span for span in spans if span.label in types))


def labelled_as(sentences: Sequence[Sentence], names: Mapping[int, Sequence[Span]]) -> list[Sentence]:
    """Return those sentences whose names are given, with these, each as a document of its own."""
    from dataclasses import replace

    return [replace(sentences[n].with_spans(spans), doc=str(n)) for n, spans in names.items()]
