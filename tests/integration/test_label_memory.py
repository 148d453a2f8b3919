"""A corpus goes by without being held, and a large dictionary compiles in bounded memory.

Peak memory is that of processes that do nothing else. These are the slow tests of labelling.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MEGABYTE = 1 << 20
FIRST = ("Maria", "Boris", "Clara", "Dmitri", "Elena", "Farid")
LAST = ("Lund", "Okoro", "Petit", "Sanz", "Haddad", "Orme")
PLACES = ("Oslo", "Quito", "Lisbon", "Dakar")
WORDS = (
    *("nevertheless", "neighbourhood", "understanding", "administration", "approximately", "communication"),
    *("refrigerators", "international", "considerable", "manufacturing", "established", "temperatures"),
)


# The peak of the program alone. What the system counts for a process (`ru_maxrss`) also has the memory of the
# parent in it, from before the program was loaded.
MEASURED = """
import sys
from pathlib import Path
from roster.cli.main import main
from roster.progress import peak_memory
code = main(sys.argv[2:])
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")]
Path(sys.argv[1]).write_text(str(found[0] if found else peak_memory()["peak_memory"]))
sys.exit(code)
"""


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Any:
    """`roster label` in a process of its own: its report, and the most memory that it held."""

    def label(corpus: Path, names: Path, *options: str | Path) -> tuple[dict[str, Any], int]:
        peak = tmp_path / "peak"
        command = [sys.executable, "-c", MEASURED, peak, "label", corpus, "--dictionary", names, "--json",
                   "--workers", "1", "--cache", tmp_path / "cache", *options]  # fmt: skip
        done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), int(peak.read_text())

    return label


def write_corpus(path: Path, megabytes: int) -> int:
    """So many megabytes of sentences, no two the same; how many they are."""
    draw = random.Random(3)
    beginnings = [f"{a} {b} left {place} ." for a in FIRST for b in LAST for place in PLACES]
    middles = [" ".join(draw.choices(WORDS, k=24)) for _ in range(500)]
    count = size = 0
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes * MEGABYTE:
            lines = [
                f"{draw.choice(middles)} {count + n} {draw.choice(middles)} {draw.choice(beginnings)}\n"
                for n in range(1000)
            ]
            size += file.write("".join(lines))
            count += len(lines)
    return count


def test_a_corpus_ten_times_as_large_takes_no_more_memory(run: Any, tmp_path: Path) -> None:
    """40 MB against 4 MB. The words that are remembered may take some more, the sentences may not."""
    names = tmp_path / "names.tsv"
    rows = [f"{a} {b}\tPER" for a in FIRST for b in LAST] + [f"{place}\tLOC" for place in PLACES]
    names.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    peaks = []
    for megabytes in (4, 40):
        corpus = tmp_path / f"{megabytes}_text.txt"
        count = write_corpus(corpus, megabytes)
        assert corpus.stat().st_size >= megabytes * MEGABYTE
        report, peak = run(corpus, names, "--format", "lines", "-o", tmp_path / f"out{megabytes}_text.txt")
        assert (report["sentences"], report["labelled_sentences"]) == (count, count)
        assert {name: found["labels"] for name, found in report["types"].items()} == {
            "PER": count,
            "LOC": count,
        }
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 100 * MEGABYTE, [f"{peak / MEGABYTE:.0f} MB" for peak in peaks]


def test_a_million_names_compile_in_bounded_memory(run: Any, tmp_path: Path) -> None:
    """And from the cache they take much less."""
    draw = random.Random(2)
    syllables = (
        "ba",
        "ko",
        "li",
        "mar",
        "ten",
        "vos",
        "ri",
        "sel",
        "dun",
        "pe",
        "hag",
        "zim",
        "or",
        "ul",
        "nex",
        "fy",
    )
    words = ["".join(draw.choices(syllables, k=2 + n % 3)).capitalize() for n in range(60_000)]
    names, corpus = tmp_path / "names.tsv", tmp_path / "corpus.txt"
    rows = [
        f"{draw.choice(words)} {draw.choice(words)} {draw.choice(words)}\t{('PER', 'ORG', 'LOC')[n % 3]}\n"
        for n in range(1_000_000)
    ]
    names.write_text("".join(rows), encoding="utf-8")
    chosen = [row.split("\t")[0] for row in draw.sample(rows, 50)]
    corpus.write_text("".join(f"they met {name} there .\n" for name in chosen), encoding="utf-8")
    options = ("--format", "text", "--case", "exact", "--ambiguous", "first", "-o", tmp_path / "out.jsonl")
    report, peak = run(corpus, names, *options)
    assert report["entries"] == 1_000_000
    assert sum(found["labels"] for found in report["types"].values()) == 50
    assert peak < 600 * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"
    again, small = run(corpus, names, *options)
    assert again == report
    assert small < 0.75 * peak, f"{small / MEGABYTE:.0f} MB from the cache"
