"""A folder of shards: the output of one process, whatever interrupts it, and no other."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fsspec
import pytest

import roster
from roster.api.sharding import convert_shards, label_shards, predict_shards
from roster.corpus.dataset import PROVENANCE, load_dataset
from roster.distant.settings import load_settings
from roster.errors import ConfigError, RosterError, RunError
from roster.shards.engines.local import LocalEngine
from roster.shards.jobs.convert import Convert
from roster.shards.run import make_plan, run
from roster.shards.worker import ShardWork

SIZE = 1000 / 2**20


def parts(folder: Path, begin: str = "part-") -> bytes:
    files = sorted(f for f in folder.iterdir() if f.name.startswith(begin) and PROVENANCE not in f.name)
    return b"".join(file.read_bytes() for file in files)


def state(folder: Path) -> dict[str, int]:
    """When each part was written."""
    return {file.name: file.stat().st_mtime_ns for file in folder.glob("part-*")}


@pytest.fixture
def converted(text: Path, tmp_path: Path) -> bytes:
    roster.convert(text, tmp_path / "whole.jsonl")
    return (tmp_path / "whole.jsonl").read_bytes()


@pytest.mark.parametrize("workers", [1, 2])
def test_convert_is_that_of_one_file(text: Path, tmp_path: Path, converted: bytes, workers: int) -> None:
    engine = LocalEngine(workers)
    plan = make_plan(str(text), engine, size=1000)
    result = run(Convert("jsonl"), str(text), plan, str(tmp_path / "out"), engine)
    assert parts(tmp_path / "out") == converted
    assert result.shards == result.made == len(plan.shards) > 5
    about = json.loads((tmp_path / "out" / "shards.json").read_text())
    assert about["finished"]
    assert about["sentences"] == result.counts["sentences"] == len(list(roster.read(text)))


def test_predict_is_that_of_one_file(text: Path, model: Path, tmp_path: Path) -> None:
    result = predict_shards(model, text, tmp_path / "out", shard_size=SIZE)
    roster.predict_file(model, text, tmp_path / "whole.jsonl")
    found = [json.loads(line) for line in parts(tmp_path / "out").splitlines()]
    whole = [json.loads(line) for line in (tmp_path / "whole.jsonl").read_text().splitlines()]
    assert result.counts["entities"] == sum(len(one["spans"]) for one in whole) > 20
    for a, b in zip(found, whole, strict=True):
        # Other batches: the last digit of a score may be another.
        assert [s.pop("score") for s in a["spans"]] == pytest.approx(
            [s.pop("score") for s in b["spans"]], abs=2e-4
        )
        assert a == b


@pytest.mark.parametrize("ambiguous", ["drop", "document"])
def test_labels_are_those_of_one_process(text: Path, tmp_path: Path, ambiguous: str) -> None:
    names = tmp_path / "names.tsv"
    names.write_text(
        "Anna Berg\tPER\nParis\tLOC\nCarl\tPER\nOslo\tLOC\nOslo\tORG\nBonn\tLOC\nthe house\tORG\n"
    )
    settings = load_settings(None, dictionaries=[names], conflicts={"ambiguous": ambiguous})
    roster.label_file(text, tmp_path / "whole", config=settings, cache=False, workers=1)
    report = label_shards(text, tmp_path / "out", config=settings, cache=False, workers=1, shard_size=SIZE)
    whole, out = tmp_path / "whole", tmp_path / "out"
    assert parts(out, "train-") == (whole / "train.jsonl").read_bytes()
    assert (out / "types.txt").read_text() == (whole / "types.txt").read_text()
    expected = json.loads((whole / "labels.json").read_text())
    found = json.loads((out / "labels.json").read_text())
    for key in ("sentences", "words", "types", "sources", "top_entries", "decisions", "dropped", "ambiguous"):
        assert found[key] == expected[key], key
    assert report.labels.total() > 100
    assert load_dataset(out).train == load_dataset(whole).train
    # Of each part, sentences are numbered from 0.
    first = min(out.glob(f"*{PROVENANCE}"))
    begin = (whole / f"train.jsonl{PROVENANCE}").read_text()
    assert begin.startswith(first.read_text())
    again = label_shards(text, out, config=settings, cache=False, workers=1, shard_size=SIZE)
    assert again.as_dict() == report.as_dict()


class StopError(Exception):
    pass


@dataclass(frozen=True)
class Interrupted:
    """An engine that ends after some items, as a process that is killed."""

    after: int

    def map(self, work: Any, items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        for number, one in enumerate(LocalEngine().map(work, items)):
            if number == self.after and isinstance(work, ShardWork):
                raise StopError
            yield one


def convert(text: Path, out: Path, engine: Any = None, size: int = 1000, to: str = "jsonl") -> Any:
    engine = engine or LocalEngine()
    return run(Convert(to), str(text), make_plan(str(text), engine, size=size), str(out), engine)


def test_the_same_command_goes_on(text: Path, tmp_path: Path, converted: bytes) -> None:
    out = tmp_path / "out"
    with pytest.raises(StopError):
        convert(text, out, Interrupted(3))
    assert not json.loads((out / "shards.json").read_text())["finished"]
    before = state(out)
    first, second, third, _ = sorted(before)
    (out / second).unlink()  # lost
    (out / third).write_text("half")
    (out / ".shards" / "00003.json").write_text('{"settings": ')
    result = convert(text, out)
    after = state(out)
    assert result.made == result.shards - 1
    assert after[first] == before[first]
    assert parts(out) == converted
    assert convert(text, out).made == 0
    assert state(out) == after


def test_changed_input_is_made_again(text: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "news.txt", tmp_path / "out"
    content = text.read_bytes()
    source.write_bytes(content)
    convert(source, out)
    before = state(out)
    os.utime(source, ns=(1, 1))  # another time, the same content: looked at, and kept
    assert convert(source, out).made == len(before)
    assert state(out) == before
    at = content.index(b"Anna", 5000)
    source.write_bytes(content[:at] + b"Otto" + content[at + 4 :])
    convert(source, out)
    roster.convert(source, tmp_path / "new.jsonl")
    assert parts(out) == (tmp_path / "new.jsonl").read_bytes()
    assert sum(before[name] != when for name, when in state(out).items()) == 1
    source.write_bytes(content * 2)
    with pytest.raises(RunError, match="from input of another size"):
        convert(source, out)


def test_input_that_changes_meanwhile_is_noticed(text: Path, tmp_path: Path) -> None:
    source = tmp_path / "news.txt"
    source.write_bytes(text.read_bytes())
    engine = LocalEngine()
    plan = make_plan(str(source), engine, size=1000)
    os.utime(source, ns=(1, 1))
    with pytest.raises(RunError, match="changed while it was read"):
        run(Convert("jsonl"), str(source), plan, str(tmp_path / "out"), engine)


def test_other_settings_are_refused(text: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(text, out)
    with pytest.raises(RunError, match=r"holds shards made with another to; give another folder"):
        convert(text, out, to="conll")
    with pytest.raises(RunError, match="by another shard size"):
        convert(text, out, size=2000)
    with pytest.raises(RunError, match="made by roster convert"):
        predict_shards(model, text, out, shard_size=SIZE)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    with pytest.raises(RosterError, match="the folder has other files in it"):
        convert(text, other)


def test_one_process_at_a_time(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    engine = LocalEngine()
    plan = make_plan(str(text), engine, size=1000)

    class Twice:
        def map(self, work: Any, items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
            run(Convert("jsonl"), str(text), plan, str(out), engine)
            return iter(())

    with pytest.raises(RunError, match="another process is writing shards"):
        run(Convert("jsonl"), str(text), plan, str(out), Twice())


def test_urls(text: Path, tmp_path: Path, converted: bytes) -> None:
    memory, folder = fsspec.filesystem("memory"), f"/{uuid.uuid4().hex}"
    memory.pipe(f"{folder}/in/news.txt", text.read_bytes())
    convert_shards(f"memory:/{folder}/in/*.txt", f"memory:/{folder}/out", shard_size=SIZE)
    found = sorted(name for name in memory.ls(f"{folder}/out", detail=False) if "part-" in name)
    assert b"".join(memory.cat(name) for name in found) == converted
    assert not [name for name in memory.find(folder) if name.endswith(".part")]
    before = {name: memory.info(name)["created"] for name in found}
    convert_shards(f"memory:/{folder}/in/*.txt", f"memory:/{folder}/out", shard_size=SIZE)
    assert {name: memory.info(name)["created"] for name in found} == before
    convert_shards(f"file://{text}", f"file://{tmp_path}/out", shard_size=SIZE)
    assert parts(tmp_path / "out") == converted
    with pytest.raises(RosterError, match="nothere"):
        convert_shards("nothere://bucket/news.txt", tmp_path / "out2")


def test_what_cannot_be_shards(text: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="several files or a folder"):
        convert_shards(text, tmp_path / "out", to="brat")
    with pytest.raises(ConfigError, match="--shard-size must be more than 0"):
        convert_shards(text, tmp_path / "out", shard_size=0)
    with pytest.raises(ConfigError, match="add --engine ray"):
        convert_shards(text, tmp_path / "out", address="auto")
    with pytest.raises(RosterError, match="is, or is in, the input"):
        convert_shards(text.parent, text.parent / "out")
    settings = load_settings(None, dictionaries=[], annotations=[f"x={text}"])
    with pytest.raises(ConfigError, match="side by side"):
        label_shards(text, tmp_path / "out", config=settings)
    assert not (tmp_path / "out").exists()
