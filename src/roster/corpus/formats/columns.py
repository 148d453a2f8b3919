"""Parquet, and the Arrow folders of Hugging Face `datasets`, in batches of rows.

Read are rows of `tokens` and `ner_tags` (strings, or numbers whose names the features hold), or of
`text` and `spans`. Written is one row per sentence, `id`, `text`, `tokens` and `ner_tags`, which is what
training scripts expect; the text is the sentence's own, so whole documents are better kept as jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from roster.corpus.formats.base import Format, Options, encode
from roster.corpus.formats.records import SPANS, TAGS, from_record
from roster.corpus.formats.textfile import opened
from roster.corpus.sentence import Sentence
from roster.errors import DataError, RosterError
from roster.files import atomic, atomic_folder, is_plain_name, write_json
from roster.parsing import parse_json
from roster.unpacking import check_size

BATCH = 1000
VALUE = 8
"""Bytes that a value takes in Python, at least."""
STATE, INFO, DICT = "state.json", "dataset_info.json", "dataset_dict.json"
STRING = {"dtype": "string", "_type": "Value"}
FEATURES = {
    "id": STRING,
    "text": STRING,
    "tokens": {"feature": STRING, "_type": "Sequence"},
    "ner_tags": {"feature": STRING, "_type": "Sequence"},
}


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise RosterError('Parquet and Arrow need pyarrow: pip install "roster-ner[arrow]"') from error
    return pyarrow


def detect_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with opened(path) as file:
        return path.suffix.lower() in (".parquet", ".pq") or file.read(4) == b"PAR1"


def detect_arrow(path: Path) -> bool:
    if path.is_dir():
        return (path / STATE).is_file() or (path / DICT).is_file()
    return path.suffix.lower() == ".arrow"


def splits(folder: Path) -> list[str]:
    """The names of the splits in a saved DatasetDict; none for any other folder."""
    if not (folder / DICT).is_file():
        return []
    names = _json(folder / DICT).get("splits", [])
    if not isinstance(names, list) or not all(map(is_plain_name, names)):
        raise DataError("expected splits to be a list of names of folders", path=folder / DICT)
    return names


def read_parquet(path: Path, options: Options) -> Iterator[Sentence]:
    pa = _pyarrow()
    with opened(path) as file, _readable(path, pa):
        table = pa.parquet.ParquetFile(file)
        _check_sizes(table.metadata, path)
        batches = table.iter_batches(batch_size=BATCH)
        yield from _sentences(batches, _features(table.schema_arrow), options, path)


def row_group_sizes(file: BinaryIO, name: str) -> list[int]:
    """The compressed bytes of each row group of a Parquet file; `name` is for errors."""
    pa = _pyarrow()
    with _readable(Path(name), pa):
        about = pa.parquet.ParquetFile(file).metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        return [
            sum(group.column(j).total_compressed_size for j in range(group.num_columns)) for group in groups
        ]


def copy_row_groups(file: BinaryIO, groups: Iterable[int], path: Path, name: str) -> None:
    """Writes some row groups of a Parquet file as a file of their own; `name` is for errors."""
    pa = _pyarrow()
    with _readable(Path(name), pa):
        source = pa.parquet.ParquetFile(file)
        with pa.parquet.ParquetWriter(path, source.schema_arrow) as out:
            for group in groups:
                out.write_table(source.read_row_group(group))


def read_arrow(path: Path, options: Options) -> Iterator[Sentence]:
    pa = _pyarrow()
    features: dict[str, Any] = {}
    files = [path]
    if path.is_dir():
        path = _split_folder(path, options.split)
        features = _json(path / INFO).get("features") or {} if (path / INFO).is_file() else {}
        files = _data_files(path)
    for file in files:
        with opened(file), _readable(file, pa):
            # Mapped, so that no buffer is larger than the file, whatever it claims.
            source, reader = pa.memory_map(str(file)), None
            try:
                reader = batches = pa.ipc.open_stream(source)
            except pa.ArrowInvalid:
                reader = pa.ipc.open_file(source)
                batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            yield from _sentences(batches, features or _features(reader.schema), options, file)


def _split_folder(path: Path, wanted: str | None) -> Path:
    names = splits(path)
    if not names:
        return path
    if wanted is None and len(names) == 1:
        wanted = names[0]
    if wanted not in names:
        raise DataError(f"it has the splits {', '.join(names)}; say which one with --split", path=path)
    return path / wanted


def _data_files(folder: Path) -> list[Path]:
    """The files that `state.json` lists, which lie in the folder itself."""
    listed = _json(folder / STATE).get("_data_files", [])
    items = listed if isinstance(listed, list) else [listed]
    names = [item.get("filename") if isinstance(item, dict) else None for item in items]
    if wrong := [name for name in names if not is_plain_name(name)]:
        raise DataError(f"expected _data_files to hold names of files in its folder, found {wrong[0]!r}",
                        path=folder / STATE)  # fmt: skip
    return [folder / str(name) for name in names]


def _check_sizes(metadata: Any, path: Path) -> None:
    """Raise `DataError` for a Parquet file whose pages unpack to very much.

    By the sizes of row groups: those of columns cannot be asked for, because Arrow ends the process where the
    description of a column is damaged.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    check_size(sum(group.total_byte_size for group in groups), path.stat().st_size, path)


@contextmanager
def _readable(path: Path, pa: Any) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        raise DataError("needs more memory than there is; it may be damaged", path=path) from error
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: metadata, names of columns
        raise DataError(f"cannot be read: {error}", path=path) from error


def _json(path: Path) -> dict[str, Any]:
    try:
        value = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path=path) from error
    except ValueError as error:
        raise DataError(f"expected JSON: {error}", path=path) from error
    if not isinstance(value, dict):
        raise DataError("expected a JSON object", path=path)
    return value


def _features(schema: Any) -> dict[str, Any]:
    """What `datasets` writes into the schema about the columns."""
    stored = (schema.metadata or {}).get(b"huggingface")
    found = parse_json(stored) if stored else {}
    for key in ("info", "features"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _class_names(feature: Any) -> list[str] | None:
    """The names of the ClassLabel somewhere inside a feature."""
    if isinstance(feature, dict):
        if feature.get("_type") == "ClassLabel":
            names = feature.get("names")
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError("a ClassLabel has no list of names")
            return names
        feature = list(feature.values())
    if isinstance(feature, list):
        return next((names for item in feature if (names := _class_names(item))), None)
    return None


def _sentences(
    batches: Iterable[Any], features: dict[str, Any], options: Options, path: Path
) -> Iterator[Sentence]:
    names = {key: found for key in (*TAGS, *SPANS) if (found := _class_names(features.get(key)))}
    number = 0
    for batch in batches:
        batch.validate(full=True)  # or a damaged file could make Arrow read outside of its memory
        check_size(VALUE * sum(map(_values, batch.columns)), path.stat().st_size, path)
        for row in (row for part in _parts(batch) for row in part.to_pylist()):
            number += 1
            try:
                for key, known in names.items():
                    row[key] = _named(row.get(key), known, inside_label=key in TAGS)
                sentences = from_record(row, options)
            except ValueError as error:
                raise DataError(f"row {number}: {error}", path=path) from error
            yield from sentences


def _parts(batch: Any) -> Iterator[Any]:
    """A batch in parts of a moderate number of rows, without copies."""
    return (batch.slice(start, BATCH) for start in range(0, batch.num_rows, BATCH))


def _values(column: Any) -> int:
    """How many values a column has in Python. Those of nulls and of runs have any number in no bytes."""
    kind = str(column.type)
    if kind.startswith(("list", "large_list", "fixed_size_list", "map")):
        return len(column) + _values(column.values)
    if kind.startswith("struct"):
        return len(column) + sum(_values(column.field(i)) for i in range(column.type.num_fields))
    return len(column)


def _named(value: Any, names: list[str], inside_label: bool) -> Any:
    """`value` with the numbers of labels replaced by names, wherever they stand in it."""
    if isinstance(value, list):
        return [_named(item, names, inside_label) for item in value]
    if isinstance(value, dict):
        return {key: _named(item, names, key == "label") for key, item in value.items()}
    if not inside_label or not isinstance(value, int):
        return value
    if not 0 <= value < len(names):
        raise ValueError(f"expected a label number from 0 to {len(names) - 1}, found {value}")
    return names[value]


def write_parquet(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    pa = _pyarrow()
    with atomic(path, "wb") as file:
        _write_batches(pa.parquet.ParquetWriter(file, _schema(pa)), sentences, options, path, pa)


def write_arrow(path: Path, sentences: Iterable[Sentence], options: Options) -> None:
    """A folder as `Dataset.save_to_disk` leaves it, or one file where the name ends in `.arrow`."""
    pa = _pyarrow()
    if path.suffix == ".arrow":
        with atomic(path, "wb") as file:
            _write_batches(pa.ipc.new_stream(file, _schema(pa)), sentences, options, path, pa)
        return
    if path.exists() and not (path.is_dir() and ((path / STATE).exists() or not any(path.iterdir()))):
        raise DataError("is there already and is no saved dataset; choose another folder", path=path)
    with atomic_folder(path) as folder:
        name = "data-00000-of-00001.arrow"
        with (folder / name).open("wb") as file:
            _write_batches(pa.ipc.new_stream(file, _schema(pa)), sentences, options, path, pa)
        write_json(folder / INFO, {"features": FEATURES})
        state = {"_data_files": [{"filename": name}], "_fingerprint": None, "_format_columns": None}
        write_json(folder / STATE, state | {"_format_kwargs": {}, "_format_type": None, "_split": None})


def _schema(pa: Any) -> Any:
    words = pa.list_(pa.string())
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("tokens", words), ("ner_tags", words)])
    return schema.with_metadata({"huggingface": json.dumps({"info": {"features": FEATURES}})})


def _write_batches(
    writer: AbstractContextManager[Any], sentences: Iterable[Sentence], options: Options, path: Path, pa: Any
) -> None:
    numbered = enumerate(sentences, 1)
    with writer as out:
        while rows := [_row(sentence, number, options, path) for number, sentence in islice(numbered, BATCH)]:
            try:
                batch = pa.RecordBatch.from_pylist(rows, schema=_schema(pa))
            except UnicodeEncodeError as error:
                raise DataError("half of a surrogate pair cannot be written as UTF-8", path=path) from error
            out.write_batch(batch)


def _row(sentence: Sentence, number: int, options: Options, path: Path) -> dict[str, Any]:
    text = sentence.text
    if sentence.words:
        text = text[sentence.offsets[0][0] : sentence.offsets[-1][1]]
    tags = None if sentence.spans is None else encode(sentence, options, path=path, number=number)
    return {"id": sentence.doc, "text": text, "tokens": list(sentence.words), "ner_tags": tags}


PARQUET = Format(
    "parquet",
    "Parquet with tokens and ner_tags",
    (".parquet", ".pq"),
    detect_parquet,
    read_parquet,
    write_parquet,
)
ARROW = Format("arrow", "a saved Hugging Face dataset", (".arrow",), detect_arrow, read_arrow, write_arrow)
