"""Dictionary files, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from roster.distant.dictionary import read_dictionary
from roster.errors import DataError


def test_names_types_header_and_more_columns(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(
        "\ufeffSurface\tType\nNew York\tLOC\tsource\n\n"
        "Apple\tORG\nApple\tFRUIT\r\nO'Neil's\t PER \nApple\tORG\n",
        encoding="utf-8",
    )
    found = read_dictionary(path)
    assert found[("New", "York")] == ("LOC",)
    assert found[("Apple",)] == ("FRUIT", "ORG")
    assert found[("O'Neil", "'s")] == ("PER",)
    assert len(found) == 3


def test_a_name_called_surface(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text("x\tA\nsurface\ttype\n")
    assert read_dictionary(path) == {("x",): ("A",), ("surface",): ("type",)}


@pytest.mark.parametrize(
    "line", ["Oslo", "Oslo LOC", "Oslo\t", "Oslo\t  ", "\tLOC", "  \tLOC", "Oslo\t\tLOC"]
)
def test_broken_lines(line: str, tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    path.write_text(f"Paris\tLOC\n\n{line}\n")
    with pytest.raises(DataError, match=r"d\.tsv, line 3: expected a name, a tab and its type") as caught:
        read_dictionary(path)
    assert (caught.value.path, caught.value.line) == (str(path), 3)


def test_files_without_names(tmp_path: Path) -> None:
    path = tmp_path / "d.tsv"
    with pytest.raises(DataError, match=r"d\.tsv: no such file"):
        read_dictionary(path)
    for content in ("", "\n\n", "surface\ttype\n"):
        path.write_text(content)
        with pytest.raises(DataError, match=r"d\.tsv: the dictionary is empty"):
            read_dictionary(path)
    path.write_bytes(b"Paris\tLOC\nZ\xfcrich\tLOC\n")
    with pytest.raises(DataError, match=r"d\.tsv, line 2: not UTF-8"):
        read_dictionary(path)
    with pytest.raises(DataError, match="cannot be read"):
        read_dictionary(tmp_path)
