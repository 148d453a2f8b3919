"""Shards together are the input: every line, row and file once, in order, numbered as in the whole."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.errors import ConfigError, DataError
from roster.shards.content import fetch
from roster.shards.engines.local import LocalEngine
from roster.shards.plan import Plan
from roster.shards.run import make_plan


def sentences(plan: Plan) -> list[Sentence]:
    found = []
    for shard in plan.shards:
        with TemporaryDirectory() as folder:
            found += list(fetch(plan, shard, Path(folder)).sentences())
    return found


@given(st.lists(st.text("aé \r\u2028.", max_size=12), max_size=30), st.integers(1, 40), st.booleans())
def test_text_is_cut_between_lines(texts: list[str], size: int, ends: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.txt"
        path.write_bytes(("\n".join(texts) + "\n" * ends).encode())
        plan = make_plan(str(path), LocalEngine(), format="text", size=size)
        assert sentences(plan) == list(read(path, "text"))
        assert len(plan.shards) == max(1, -(-path.stat().st_size // size))


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(["Ada", "é", "Oslo"]), min_size=1, max_size=5), max_size=20),
       st.integers(1, 200))  # fmt: skip
def test_json_lines_are_cut_between_records(rows: list[list[str]], size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        write(path, [Sentence.from_words(row, [Span(0, 1, "X")], doc=str(i)) for i, row in enumerate(rows)])
        assert sentences(make_plan(str(path), LocalEngine(), size=size)) == list(read(path))


@pytest.mark.parametrize("size", [1, 500, 5000])
def test_parquet_is_cut_between_row_groups(size: int, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    write(path, [Sentence.from_words(["Ada", str(i)], [Span(0, 1, "PER")], doc=str(i)) for i in range(2500)])
    groups = pq.ParquetFile(path).num_row_groups
    plan = make_plan(str(path), LocalEngine(), size=size)
    assert sentences(plan) == list(read(path))
    assert len(plan.shards) == groups if size == 1 else len(plan.shards) <= groups


def test_a_folder_of_texts_is_its_documents(tmp_path: Path) -> None:
    for name in ("b.txt", "sub/a.txt", "a b.txt", "sub.txt", ".hidden.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"Ada of {name} .\nTwo lines .", encoding="utf-8")
    plan = make_plan(str(tmp_path), LocalEngine(), size=60)
    assert sentences(plan) == list(read(tmp_path))
    assert len(plan.shards) == 2


def test_a_pattern_names_files_of_lines(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).write_text(f"one {name}\ntwo\n")
    plan = make_plan(f"{tmp_path}/*.txt", LocalEngine())
    assert sentences(plan) == [*read(tmp_path / "a.txt"), *read(tmp_path / "b.txt")]


def test_utf_16_is_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Ada é\nOslo\n".encode("utf-16"))
    plan = make_plan(str(path), LocalEngine(), size=4)
    assert len(plan.shards) == 1
    assert sentences(plan) == list(read(path))


def test_any_other_format_is_a_shard_for_each_file(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.conll").write_text(f"Ada{name} B-PER\nran O\n\n")
    plan = make_plan(str(tmp_path), LocalEngine(), size=3)
    assert sentences(plan) == [*read(tmp_path / "a.conll"), *read(tmp_path / "b.conll")]


def test_an_error_has_its_place_in_the_input(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ada"}\n' * 9 + "{broken\n")
    plan = make_plan(str(path), LocalEngine(), size=40)
    with pytest.raises(DataError, match=r"a\.jsonl, line 10: "):
        sentences(plan)
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "b.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match=r"texts/b\.txt, line 1: not UTF-8"):
        sentences(make_plan(str(texts), LocalEngine(), format="text"))


def test_inputs_that_are_no_shards(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        make_plan(str(tmp_path / "none"), LocalEngine())
    with pytest.raises(DataError, match="there is no file in it"):
        make_plan(str(tmp_path), LocalEngine())
    (tmp_path / "a.txt").write_text("Ada\n")
    with pytest.raises(ConfigError, match="lines is a format of several files"):
        make_plan(str(tmp_path / "a.txt"), LocalEngine(), format="lines")
    (tmp_path / "a.jsonl").write_text('{"text": "Ada"}\n')
    with pytest.raises(DataError, match=r"files of several formats: .*jsonl.*text"):
        make_plan(str(tmp_path), LocalEngine())
