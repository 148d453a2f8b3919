"""What goes wrong with `roster label`: one line that says what and where, exit code 2, nothing half-written.

And what only looks wrong, and works.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.io import read

TEXT = "Ada Lund left Oslo .\nit rained .\n"
LABEL: list[Any] = [sys.executable, "-m", "roster.cli.main", "label"]
Refuse = Callable[..., str]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder with a corpus and a dictionary that are fine."""
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "corpus.txt").write_text(TEXT, encoding="utf-8")
    (folder / "names.tsv").write_text("Ada Lund\tPER\nOslo\tLOC\n", encoding="utf-8")
    return folder


@pytest.fixture
def label(roster: Any, given: Path, tmp_path: Path) -> Callable[..., Any]:
    """`label(*options)` with the corpus and dictionary above unless others are given, into `tmp_path/out`."""

    def run(*options: str | Path, corpus: Path | None = None, names: Any = (), output: str = "out") -> Any:
        files = ("--dictionary", *names) if names else ()
        more = () if "--workers" in options else ("--workers", "1")
        given_options = (*files, *options, *more, "-o", tmp_path / output)
        cache = str(tmp_path / "cache")
        return roster("label", corpus or given / "corpus.txt", *given_options, ROSTER_CACHE=cache)

    return run


@pytest.fixture
def refuse(label: Callable[..., Any], tmp_path: Path) -> Refuse:
    """A run that must not begin: what it says, after a look that it left nothing."""

    def run(*options: str | Path, says: tuple[str | Path, ...], **more: Any) -> str:
        done = label(*options, **more)
        assert done.code == 2, (done.code, done.err)
        *before, last = done.err.splitlines()
        assert all(line.startswith("compiling ") for line in before), done.err
        assert last.startswith("roster: "), done.err
        assert "Traceback" not in done.err
        for part in says:
            assert str(part) in last
        assert not done.out
        out = tmp_path / "out"
        assert not out.exists() or (out.is_dir() and not list(out.iterdir())), list(out.iterdir())
        assert not [f for f in tmp_path.rglob("*") if ".part" in f.name]
        return last

    return run


# Dictionaries


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Oslo\tLOC\nLima\n", ("names.tsv, line 2", "expected a name, a tab and its type")),
        ("Oslo\tLOC\n\n\tLOC\n", ("names.tsv, line 3", "the name is empty")),
        ("Oslo\tLOC\nLima\t\n", ("names.tsv, line 2", "the type of 'Lima' is empty")),
        (
            "Cat\tAda\nDog\tOslo\n",
            ("names.tsv: cannot tell which column", "--dictionary-format", "surface<TAB>"),
        ),
        ("", ("names.tsv", "no entries")),
        ("\n \n\n", ("names.tsv", "no entries")),
        ("surface\ttype\n", ("names.tsv", "no entries")),
        ('{"name": "Oslo", "type": "LOC"}\n{"name": "Lima"\n', ("names.tsv, line 2", "not JSON")),
        ('{"name": "Oslo", "type": "LOC"}\n{"name": "Lima"}\n', ("names.tsv, line 2", "expected two keys")),
        ("name,type\nOslo,LOC\nLima\n", ("names.tsv, line 3", "expected 2 cells")),
        ("Oslo\tLOC\nLi\0ma\tLOC\n", ("names.tsv, line 2", "zero byte")),
    ],
)
def test_broken_dictionaries(content: str, says: tuple[str, ...], refuse: Refuse, given: Path) -> None:
    (given / "names.tsv").write_text(content, encoding="utf-8")
    refuse(names=[given / "names.tsv"], says=says)


def test_files_that_are_no_dictionary(refuse: Refuse, given: Path) -> None:
    refuse(names=[given / "none.tsv"], says=(given / "none.tsv", "no such file"))
    refuse(names=[given], says=(given, "cannot be read: Is a directory"))
    (given / "latin.tsv").write_bytes("Oslo\tLOC\nZ\xfcrich\tLOC\n".encode("latin-1"))
    refuse(names=[given / "latin.tsv"], says=("latin.tsv, line 2", "not UTF-8", "iconv"))
    (given / "binary.tsv").write_bytes(bytes(range(256)) * 40)
    refuse(names=[given / "binary.tsv"], says=("binary.tsv", "UTF-8"))
    packed = gzip.compress(b"Oslo\tLOC\n" * 500)
    (given / "cut.tsv.gz").write_bytes(packed[: len(packed) // 2])
    refuse(names=[given / "cut.tsv.gz"], says=("cut.tsv.gz, line 1", "gzip data end too early"))
    refuse("--dictionary-format", "excel", names=[given / "names.tsv"], says=("excel", "autoner"))


def test_a_broken_dictionary_without_a_cache(refuse: Refuse, given: Path, tmp_path: Path) -> None:
    (given / "names.tsv").write_text("Oslo\tLOC\nLima\n", encoding="utf-8")
    refuse("--no-cache", names=[given / "names.tsv"], says=("names.tsv, line 2",))
    assert not (tmp_path / "cache").exists()


def test_one_broken_dictionary_of_two(refuse: Refuse, given: Path) -> None:
    (given / "more.tsv").write_text("Lima\n", encoding="utf-8")
    refuse(names=[given / "names.tsv", given / "more.tsv"], says=("more.tsv, line 1",))


def test_nothing_of_a_broken_dictionary_is_kept(refuse: Refuse, given: Path, tmp_path: Path) -> None:
    (given / "names.tsv").write_text("Oslo\tLOC\nLima\n", encoding="utf-8")
    refuse(names=[given / "names.tsv"], says=("line 2",))
    assert not [f for f in (tmp_path / "cache").rglob("*") if f.is_file()]


def test_two_dictionaries_of_one_name(refuse: Refuse, given: Path) -> None:
    (given / "other").mkdir()
    (given / "other/names.tsv").write_text("Lima\tLOC\n", encoding="utf-8")
    both = [given / "names.tsv", given / "other/names.tsv"]
    refuse(names=both, says=("two dictionaries or patches are called names.tsv", "rename one"))
    refuse(names=[both[0], both[0]], says=("two dictionaries or patches are called names.tsv",))


def test_contradictions_and_repetitions_are_no_error(label: Any, given: Path, tmp_path: Path) -> None:
    rows = ["Oslo\tLOC"] * 3 + ["Oslo\tPER", "Ada Lund\tPER", "Ada Lund\tPER", "ADA LUND\tPER"]
    (given / "names.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = label(names=[given / "names.tsv"])
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "out/labels.json").read_text())
    assert report["types"] == {"PER": {"labels": 1, "words": 2}}
    assert report["ambiguous"] == [{"name": "Oslo", "types": ["LOC", "PER"], "count": 1}]


def test_entries_that_can_match_nothing(label: Any, given: Path, tmp_path: Path) -> None:
    rows = ["the\tORG", "May\tPER", "!!!\tBAND", "X\tORG", "Oslo\tLOC", "Fargo\tFILM", "It\tFILM"]
    (given / "names.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = label("--types", "FILM=", names=[given / "names.tsv"])
    assert done.code == 0, done.err
    listed = (tmp_path / "out/dead_entries.tsv").read_text(encoding="utf-8").splitlines()
    assert listed[0] == "surface\ttype\tfile\tline\treason"
    assert set(listed[1:]) == {
        "the\tORG\tnames.tsv\t1\tonly stop-words",
        "May\tPER\tnames.tsv\t2\tonly stop-words",
        "!!!\tBAND\tnames.tsv\t3\tno letter or digit",
        "X\tORG\tnames.tsv\t4\tshorter than min_length",
        "Fargo\tFILM\tnames.tsv\t6\ttype without a label",
        "It\tFILM\tnames.tsv\t7\ttype without a label",
    }
    assert json.loads((tmp_path / "out/labels.json").read_text())["dead_entries"] == {
        "only stop-words": 2,
        "no letter or digit": 1,
        "shorter than min_length": 1,
        "type without a label": 2,
    }
    assert "dead_entries.tsv" in done.err


def test_a_dictionary_of_dead_entries_only(label: Any, given: Path, tmp_path: Path) -> None:
    (given / "names.tsv").write_text("the\tORG\nof\tORG\n", encoding="utf-8")
    done = label(names=[given / "names.tsv"])
    assert done.code == 0, done.err
    assert "Of 2 entries, 2 can match nothing" in done.out
    assert [s.spans for s in read(tmp_path / "out/train.jsonl")] == [(), ()]


# Settings


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("[police]\n", ("label.toml", "[police]", "defaults")),
        ("[defaults]\ncasing = 'exact'\n", ("label.toml", "casing")),
        ("[defaults]\ncase = 'loud'\n", ("label.toml", "case", "smart", "'loud'")),
        ("[types.PER]\nallow = 'Ada'\n", ("label.toml", "[types.PER]", "allow", "list")),
        ("[conflicts]\nambiguous = 3\n", ("label.toml", "ambiguous")),
        ("[builtin]\npatterns = ['DAET']\n", ("'DAET'", "DATE")),
        ("[builtin]\npatterns = 3\n", ("label.toml", "patterns")),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = 'a(?=b)'\n", ("label.toml", "'x'", "look-ahead")),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = '(?<!a)b'\n", ("label.toml", "'x'", "look-behind")),
        (
            "[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = '(a)\\1'\n",
            ("label.toml", "'x'", "back reference"),
        ),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\nregex = 'a('\n", ("label.toml", "'x'", "not valid")),
        ("[[patterns]]\nname = 'x'\nlabel = 'X'\ntokens = [{POS = 'NOUN'}]\n", ("label.toml", "'x'", "POS")),
        ("[[dictionaries]]\npath = 'none.tsv'\n", ("none.tsv", "no such file")),
        ("[defaults\n", ("label.toml", "not a TOML file")),
    ],
)
def test_broken_settings(config: str, says: tuple[str, ...], refuse: Refuse, given: Path) -> None:
    (given / "label.toml").write_text(config, encoding="utf-8")
    refuse("--config", given / "label.toml", names=[given / "names.tsv"], says=says)


def test_broken_options(refuse: Refuse, given: Path) -> None:
    names = [given / "names.tsv"]
    refuse(says=("nothing to label with", "--dictionary"))
    refuse("--config", given / "none.toml", says=("none.toml", "no such config file"))
    refuse("--patterns", "DAET", says=("'DAET'", "DATE"))
    refuse("--workers", "0", names=names, says=("workers must be at least 1, not 0",))
    refuse("--workers", "-3", names=names, says=("workers must be at least 1, not -3",))
    refuse("--workers", "two", names=names, says=("--workers", "two"))
    refuse("--types", "PER", names=names, says=("--types PER", "KIND=LABEL"))
    refuse("--types", "=LOC", names=names, says=("--types =LOC", "KIND=LABEL"))
    refuse("--case", "loud", names=names, says=("--case", "loud", "smart"))
    refuse("--ambiguous", "ask", names=names, says=("--ambiguous", "document"))
    refuse("--format", "docx", names=names, says=("--format", "docx"))
    refuse("--kb", given / "none.store", says=("none.store",))


# Corpora


def test_a_missing_corpus(refuse: Refuse, given: Path, tmp_path: Path) -> None:
    """Said before a dictionary is compiled."""
    refuse(corpus=given / "none.txt", names=[given / "names.tsv"], says=("none.txt", "no such file"))
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", ["", "\n\n", "  \t \n"])
def test_a_corpus_without_words(content: str, refuse: Refuse, given: Path) -> None:
    (given / "corpus.txt").write_text(content, encoding="utf-8")
    options = ("--format", "text")
    refuse(*options, names=[given / "names.tsv"], says=("corpus.txt", "no word"))


def test_a_corpus_that_breaks_late(refuse: Refuse, given: Path) -> None:
    (given / "corpus.txt").write_bytes(TEXT.encode() * 2000 + b"Z\xfcrich .\n" + TEXT.encode())
    for case in ("smart", "exact"):  # the first reads the corpus ahead of time
        says = ("corpus.txt, line 4001", "not UTF-8")
        refuse("--case", case, "--format", "text", names=[given / "names.tsv"], says=says)
        refuse("--case", case, "--format", "text", "--workers", "2", names=[given / "names.tsv"], says=says)


def test_a_broken_corpus_of_another_format(refuse: Refuse, given: Path) -> None:
    (given / "c.conll").write_text("Ada B-PER\nleft O O\n", encoding="utf-8")
    refuse(
        corpus=given / "c.conll", names=[given / "names.tsv"], says=("c.conll, line 2", "expected 2 columns")
    )
    (given / "c.jsonl").write_text('{"text": "Ada"}\n{"txt": "Oslo"}\n', encoding="utf-8")
    refuse(corpus=given / "c.jsonl", names=[given / "names.tsv"], says=("c.jsonl, line 2", "expected text"))
    (given / "c.bin").write_bytes(bytes(range(256)) * 10)
    refuse(corpus=given / "c.bin", names=[given / "names.tsv"], says=("c.bin", "--format"))


# Output


def test_a_folder_with_other_files(label: Any, given: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/train_text.txt").write_text("mine")
    done = label(names=[given / "names.tsv"])
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{tmp_path / 'out'}: the folder has other files in it" in done.err
    assert [f.name for f in (tmp_path / "out").iterdir()] == ["train_text.txt"]
    assert (tmp_path / "out/train_text.txt").read_text() == "mine"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("place", ["given/names.tsv/x", "/proc/nowhere/x"])
@pytest.mark.parametrize("name", ["data", "x.jsonl", "x.conll"])
def test_a_place_that_cannot_be_written(
    place: str, name: str, label: Any, given: Path, tmp_path: Path
) -> None:
    done = label("--no-cache", names=[given / "names.tsv"], output=f"{place}/{name}")
    assert done.code == 2, done.err
    assert done.err.startswith("roster: cannot write"), done.err
    assert place in done.err
    assert done.err.count("\n") == 1
    assert (given / "names.tsv").read_text().startswith("Ada Lund")


def test_the_corpus_or_the_dictionary_as_output(label: Any, given: Path) -> None:
    """Neither is written over."""
    (given / "c.jsonl").write_text('{"text": "Ada Lund left Oslo."}\n', encoding="utf-8")
    for options in (
        {"corpus": given / "c.jsonl", "output": "given/c.jsonl"},
        {"output": "given/names.tsv"},
    ):
        before = {f.name: f.read_bytes() for f in given.iterdir()}
        done = label(names=[given / "names.tsv"], **options)
        assert done.code == 2, options
        assert str(options["output"]) in done.err.splitlines()[-1]
        assert {f.name: f.read_bytes() for f in given.iterdir()} == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of a few kilobytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(small_disk: Path, label: Any, given: Path) -> None:
    (given / "corpus.txt").write_text(TEXT * 2000, encoding="utf-8")
    for output in ("disk/data", "disk/x.conll"):
        done = label("--no-cache", names=[given / "names.tsv"], output=output)
        assert done.code == 2, done.err
        assert done.err.startswith("roster: cannot write")
        assert "No space left on device" in done.err
        assert not [f for f in small_disk.rglob("*") if f.is_file()]


def test_gold_labels_of_other_sentences(refuse: Refuse, label: Any, given: Path) -> None:
    """The labels are not kept either: a second run with the right file must find the folder free."""
    names = [given / "names.tsv"]
    (given / "gold.conll").write_text("Ada B-PER\nleft O\n\n", encoding="utf-8")
    refuse("--gold", given / "gold.conll", names=names, says=("gold.conll",))
    (given / "gold.conll").write_text(
        "Bo B-PER\nLund I-PER\nleft O\nOslo B-LOC\n. O\n\nit O\nrained O\n. O\n"
    )
    refuse("--gold", given / "gold.conll", names=names, says=("gold.conll",))
    (given / "gold_text.txt").write_text(TEXT, encoding="utf-8")
    refuse("--gold", given / "gold_text.txt", names=names, says=("gold_text.txt",))
    refuse("--gold", given / "none.conll", names=names, says=("none.conll", "no such file"))
    assert label(names=names).code == 0


# Time and violence


PATIENCE = 300
"""Seconds. What can go wrong here takes hours; what is right takes seconds, or minutes on a busy machine."""
EVIL = ("(a+)+$", "(a|aa)+$", "(a|a?)+b", "(.*)*c", "([a-z]+)*[0-9]")


def test_evil_expressions_take_no_longer(label: Any, given: Path) -> None:
    """Each of these takes a backtracking engine longer than anybody waits."""
    tables = [
        f"[[patterns]]\nname = 'p{n}'\nlabel = 'X'\nregex = '{regex}'\n" for n, regex in enumerate(EVIL)
    ]
    (given / "label.toml").write_text("".join(tables), encoding="utf-8")
    (given / "corpus.txt").write_text(("a" * 5000 + "! ") * 20 + "\n" + "a " * 5000 + "!\n", encoding="utf-8")
    start = time.perf_counter()
    done = label("--format", "lines", "--config", given / "label.toml", output="x.jsonl")
    assert done.code == 0, done.err
    assert time.perf_counter() - start < PATIENCE


def test_many_names_in_one_place_take_no_longer(label: Any, given: Path, tmp_path: Path) -> None:
    """Every stretch of a long run of one word is a name."""
    (given / "names.tsv").write_text("".join(f"{'ba ' * n}\tX\n" for n in range(1, 60)), encoding="utf-8")
    (given / "corpus.txt").write_text("ba " * 6000 + "\n", encoding="utf-8")
    start = time.perf_counter()
    options = ("--format", "lines", "--case", "insensitive")
    done = label(*options, names=[given / "names.tsv"], output="x.jsonl")
    assert done.code == 0, done.err
    assert time.perf_counter() - start < PATIENCE
    (sentence,) = read(tmp_path / "x.jsonl")
    assert {x.end - x.start for x in sentence.spans or ()} >= {59}


def killed(command: list[Any], environment: dict[str, str], folder: Path, when: Callable[[], bool]) -> None:
    """Run until `when` says so, then end it and all its workers at once, as a power cut would."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True)  # fmt: skip
    for _ in range(6000):
        if when():
            break
        assert process.poll() is None, (process.stderr.read() if process.stderr else b"").decode()
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    if process.stderr:
        process.stderr.close()


@pytest.mark.parametrize(("output", "workers"), [("data", "1"), ("x.jsonl", "2")])
def test_killed_while_writing(
    output: str, workers: str, environment: dict[str, str], given: Path, tmp_path: Path
) -> None:
    """No half file has a final name, and the same command works afterwards."""
    (given / "corpus.txt").write_text(TEXT * 30_000, encoding="utf-8")
    target = tmp_path / output
    command = [*LABEL, given / "corpus.txt", "--format", "text",
               "--dictionary", given / "names.tsv", "--case", "exact", "--no-cache", "--workers", workers,
               "-o", target]  # fmt: skip

    def writing() -> bool:
        return any(f.stat().st_size > 100_000 for f in tmp_path.rglob(".*.part"))

    killed(command, environment, tmp_path, writing)
    places = [target] if output == "x.jsonl" else list(target.iterdir())
    assert not [f for f in places if f.is_file() and not f.name.endswith(".part")]
    (given / "corpus.txt").write_text(TEXT, encoding="utf-8")
    again = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    file = target if output == "x.jsonl" else target / "train.jsonl"
    assert [len(s.spans or ()) for s in read(file)] == [2, 0]


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds workers through /proc")
@pytest.mark.parametrize("victims", ["workers", "parent"])
def test_some_of_several_processes_are_killed(
    victims: str, environment: dict[str, str], given: Path, tmp_path: Path
) -> None:
    """As when memory runs out. The command does not wait for labels that nobody makes, nor workers for it."""
    (given / "corpus.txt").write_text(TEXT * 30_000, encoding="utf-8")
    target = tmp_path / "x.jsonl"
    command = [*LABEL, given / "corpus.txt", "--format", "text",
               "--dictionary", given / "names.tsv", "--case", "exact", "--no-cache", "--workers", "2",
               "--patterns", "DATE", "MONEY", "CARDINAL", "-o", target]  # fmt: skip
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True)  # fmt: skip
    try:
        while len(children(process.pid)) < 2 or not list(tmp_path.glob(".x.jsonl.*.part")):
            assert process.poll() is None
            time.sleep(0.005)
        workers = children(process.pid)
        for pid in workers if victims == "workers" else [process.pid]:
            os.kill(pid, signal.SIGKILL)
        _, said = process.communicate(timeout=20)
        deadline = time.monotonic() + 10
        while any(Path(f"/proc/{pid}/exe").exists() for pid in workers) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not [pid for pid in workers if Path(f"/proc/{pid}/exe").exists()]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not target.exists()
    if victims == "workers":
        assert not list(tmp_path.glob(".x.jsonl.*.part"))
        assert process.returncode == 2
        assert b"Traceback" not in said
        assert (
            said.decode()
            .splitlines()[-1]
            .startswith("roster: a worker process was killed by signal 9 (SIGKILL); if memory ran out")
        )


def test_killed_while_compiling(environment: dict[str, str], given: Path, tmp_path: Path) -> None:
    (given / "names.tsv").write_text(
        "".join(f"Ada{n} Lund{n % 97}\tPER\n" for n in range(60_000)), encoding="utf-8"
    )
    cache = tmp_path / "cache"
    command = [*LABEL, given / "corpus.txt", "--format", "text",
               "--dictionary", given / "names.tsv", "--cache", cache, "--workers", "1",
               "-o", tmp_path / "x.jsonl"]  # fmt: skip
    killed(command, environment, tmp_path, lambda: any(cache.rglob("*.npy")))
    assert not [f for f in cache.rglob("lexicon.json") if ".part" not in str(f)]
    assert not (tmp_path / "x.jsonl").exists()
    (given / "corpus.txt").write_text("we saw Ada7 Lund7 there\n", encoding="utf-8")
    again = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert [len(s.spans or ()) for s in read(tmp_path / "x.jsonl")] == [1]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_interrupted_by_the_user(
    workers: str, environment: dict[str, str], given: Path, tmp_path: Path
) -> None:
    """Control-C reaches the command and its workers alike; only the command says something."""
    (given / "corpus.txt").write_text(TEXT * 30_000, encoding="utf-8")
    command = [*LABEL, given / "corpus.txt", "--format", "text", "--dictionary", given / "names.tsv",
               "--case", "exact", "--no-cache", "--workers", workers, "-o", tmp_path / "out"]  # fmt: skip

    def heed() -> None:  # tests that run in the background inherit that control-C is not heeded
        signal.signal(signal.SIGINT, signal.default_int_handler)

    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, preexec_fn=heed)  # fmt: skip
    while not any(f.stat().st_size > 100_000 for f in tmp_path.rglob(".*.part")):
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    out, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert (out, said.decode()) == (b"", "roster: stopped\n")
    assert not list((tmp_path / "out").iterdir())
