"""`roster review` as a user runs it: through a pipe, on a terminal, killed; and what the answers serve."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.review.annotator import answers
from roster.api.review import open_review
from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.reviewing.review import Review

COMMAND = [sys.executable, "-m", "roster.cli.main"]
KEYS = {"right": "r", "no name": "n", "done": "", "all right": "a", "skip": "s"}


@pytest.fixture(scope="module")
def gold(corpus: Path) -> list[Sentence]:
    return list(read(corpus, split="test"))


@pytest.fixture
def begun(roster: Any, model: Path, corpus: Path, tmp_path: Path) -> Path:
    """A review of the test sentences without an answer."""
    folder = tmp_path / "review"
    done = roster("review", model, corpus / "test_text.txt", "-o", folder, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["scores"] is None
    return folder


def lines(review: Review, gold: list[Sentence], sentences: int) -> str:
    """What a person would type about the next sentences."""
    typed = []
    for number in review.session.order[len(review.session.closed()) :][:sentences]:
        sentence = review.session.sentences[number]
        for one in answers(int(number), sentence, gold[number].spans or (), review.types, True):
            text = KEYS.get(one.verdict)
            if one.span is not None:
                place = f"{one.span.start + 1} {one.span.end} {one.span.label}"
                text = f"t {one.span.label}" if one.verdict == "type" else f"{one.verdict[0]} {place}"
            typed.append(f"{text}\n")
    return "".join(typed)


def typed(folder: Path, gold: list[Sentence], sentences: int) -> str:
    with open_review(folder) as review:
        return lines(review, gold, sentences)


def test_through_a_pipe(
    roster: Any, begun: Path, gold: list[Sentence], model: Path, corpus: Path, backbone: Path, tmp_path: Path
) -> None:
    text = typed(begun, gold, len(gold))
    first = "".join(text.splitlines(keepends=True)[:7])
    done = roster("review", model, corpus / "test_text.txt", "-o", begun, stdin=f"x\n{first}u\nq\n{text}")
    assert done.code == 0, done.err
    assert "this key has no meaning here" in done.out
    assert "0 answers" not in done.out  # such a key changes no estimate
    assert json.loads(roster("review", begun, "--json").out)["answers"] == 6

    done = roster("review", begun, "--width", "0.001", stdin=typed_rest(begun, text, 6))
    assert done.code == 0, done.err
    assert "F1 0." in done.out or "F1 1." in done.out
    status = json.loads(roster("review", begun, "--json").out)
    assert (status["sentences"], status["population"]) == (len(gold), len(gold))

    # All sentences have been reviewed: the estimate is the score, and so is that of the gold file.
    scores = json.loads(roster("evaluate", model, corpus, "--split", "test", "--json").out)
    again = json.loads(roster("evaluate", model, begun / "gold.jsonl", "--json").out)
    for name in ("precision", "recall", "f1"):
        assert status["scores"][name]["value"] == pytest.approx(scores[name], abs=1e-6)
        assert again[name] == pytest.approx(scores[name], abs=1e-6)
    assert (begun / "corrections.tsv").exists()

    config = tmp_path / "train.toml"
    config.write_text(f'method = "fine-tune"\n[backbone]\nname = "{backbone}"\nmax_length = 32\n'
                      "[fine_tune]\nepochs = 1\nlearning_rate = 1e-3\n")  # fmt: skip
    done = roster("train", corpus, "-o", tmp_path / "run", "--config", config, "--set",
                  f"gold.file={begun / 'gold.jsonl'}")  # fmt: skip
    assert done.code == 0, done.err


def typed_rest(folder: Path, text: str, given: int) -> str:
    return "".join(text.splitlines(keepends=True)[given:])


def test_the_estimate_is_shown_once_for_a_sentence(roster: Any, begun: Path, gold: list[Sentence]) -> None:
    done = roster("review", begun, "--width", "0.001", stdin=typed(begun, gold, 20))
    assert done.code == 0, done.err
    shown = [line for line in done.out.splitlines() if " answers: F1 " in line or "; an estimate" in line]
    assert len(shown) == 20


def test_it_ends_at_the_width(roster: Any, model: Path, corpus: Path, tmp_path: Path) -> None:
    """Not before 30 sentences, and the same command goes on from there."""
    command = ["review", model, corpus / "train_text.txt", "-o", tmp_path / "review", "--width", "0.9"]
    done = roster(*command, stdin="\n" * 300)
    assert done.code == 0, done.err
    assert "F1 is known to ± 0.9" in done.out
    assert "30 of 60 sentences reviewed" in done.out
    assert "95 % intervals" in roster(*command, "--status").out
    assert "31 of 60 sentences reviewed" in roster(*command, stdin="a\n").out


def test_killed_in_the_middle(
    roster: Any, begun: Path, gold: list[Sentence], environment: dict[str, str]
) -> None:
    text = typed(begun, gold, len(gold)).splitlines(keepends=True)
    process = subprocess.Popen([*COMMAND, "review", str(begun)], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True)  # fmt: skip
    assert process.stdin
    process.stdin.write("".join(text[:9]))
    process.stdin.flush()
    wait_for(lambda: count(begun) == 9)
    refused = roster("review", begun, "--json")
    assert refused.code == 2
    assert "another process has the review" in refused.err
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    with (begun / "answers.jsonl").open("a") as file:
        file.write('{"sentence": 3, "ver')
    done = roster("review", begun, "--width", "0.001", stdin="".join(text[9:]))
    assert done.code == 0, done.err
    whole = json.loads(roster("review", begun, "--json").out)
    assert (whole["answers"], whole["sentences"]) == (len(text), len(gold))


def test_on_a_terminal(begun: Path, gold: list[Sentence], environment: dict[str, str]) -> None:
    """Keys without Enter, one of them for a name that is typed; Ctrl-D ends."""
    sentence = next(iter(open_first(begun)))
    keys = b"s" if not sentence.spans else b"b"
    master, slave = pty.openpty()
    process = subprocess.Popen([*COMMAND, "review", str(begun)], env={**environment, "TERM": "xterm"},
                               stdin=slave, stdout=slave, stderr=slave, close_fds=True)  # fmt: skip
    os.close(slave)
    try:
        shown = until(master, b"q quit: ")
        os.write(master, b"\x1b[A")  # an arrow key
        shown += until(master, b"q quit: ")
        assert b"this key has no meaning here" in shown
        assert count(begun) == 0
        if keys == b"b":
            os.write(master, b"b")
            until(master, b"type (")
            os.write(master, b"99 99 PER\n")
            shown += until(master, b"q quit: ")
            assert b"expected words from 1 to" in shown
        os.write(master, b"s")
        until(master, b"q quit: ")
        assert count(begun) == 1
        os.write(master, b"u")
        until(master, b"q quit: ")
        assert count(begun) == 2
        os.write(master, b"\x04")
        until(master, b"too few for an estimate")
        assert process.wait() == 0
    finally:
        process.kill()
        os.close(master)


def test_text_cannot_control_the_terminal(roster: Any, model: Path, tmp_path: Path) -> None:
    (tmp_path / "evil.jsonl").write_text(
        json.dumps({"tokens": ["Mr", "\x1b[2J\x1b]0;x\x07Ada", "\u202elives", "in", "Oslo\x9b1m"]}) + "\n"
    )
    done = roster("review", model, tmp_path / "evil.jsonl", "-o", tmp_path / "review", stdin="q\n")
    assert done.code == 0, done.err
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(done.out)
    assert "\\x1b[2J" in done.out


def test_labels_of_the_text_are_no_answers(roster: Any, model: Path, corpus: Path, tmp_path: Path) -> None:
    for name, labels in (("with", corpus / "train_text.txt"), ("without", tmp_path / "plain_text.txt")):
        if name == "without":
            labels.write_text((corpus / "train_text.txt").read_text())
        done = roster("review", model, labels, "-o", tmp_path / name, "--json")
        assert done.code == 0, done.err
    with open_review(tmp_path / "with") as a, open_review(tmp_path / "without") as b:
        assert [s.spans for s in a.session.sentences] == [s.spans for s in b.session.sentences]
        assert a.session.frame.expected.controls.sum() != b.session.frame.expected.controls.sum()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}", "{text}"], "give the folder of the review: -o REVIEW"),
        (["{model}", "-o", "{new}"], "a review needs a text"),
        (["{model}"], "holds no review"),
        (["{model}", "{new}", "-o", "{new}"], "no such file"),
        (["{new}", "{text}", "-o", "{new}"], "there is no model folder"),
        (["{model}", "{text}", "-o", "{new}", "--width", "3"], "--width must be between 0 and 1"),
        (["{model}", "{text}", "-o", "{new}", "--confidence", "95"], "--confidence must be"),
        (["{model}", "{text}", "-o", "{new}", "--sentences", "0"], "1 or more"),
        (["{model}", "{text}", "-o", "{corpus}"], "exists already and is no review"),
    ],
)
def test_mistakes(
    roster: Any, model: Path, corpus: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    places = {"model": model, "text": corpus / "test_text.txt", "new": tmp_path / "new", "corpus": corpus}
    done = roster("review", *(one.format(**places) for one in arguments))
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "new").exists()


def test_benchmark(benchmarks: Any, model: Path, corpus: Path) -> None:
    done = benchmarks("review", model, corpus / "test_text.txt", "--times", "20", "--answers", "30", "50",
                      "--width", "0.1", "--json")  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert [(r["system"], r["keys"]) for r in report["results"]] == [
        (system, keys) for keys in ("each name", "all right") for system in ("ours", "random sampling")
    ]
    for result in report["results"]:
        assert 0 <= result["until"]["coverage"] <= 1
        assert all(one["margin"] >= 0 for one in result["at"])


def open_first(folder: Path) -> list[Sentence]:
    with open_review(folder) as review:
        question = review.next()
        assert question is not None
        return [question.sentence]


def count(folder: Path) -> int:
    path = folder / "answers.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for(what: Any) -> None:
    for _ in range(6000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def until(handle: int, end: bytes) -> bytes:
    """What a terminal shows up to `end`."""
    shown = b""
    while end not in shown:
        assert select.select([handle], [], [], 60)[0], shown
        shown += os.read(handle, 4096)
    return shown


def test_a_run_folder_reviews_its_own_training_text(
    roster: Any, runs: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(runs["roster"], run)
    done = roster("review", run, "--status")
    assert done.code == 0, done.err
    with open_review(run / "review") as review:
        assert len(review.session.sentences) == 60
    results = json.loads((run / "results.json").read_text())
    results["data"]["path"] = None
    (run / "results.json").write_text(json.dumps(results))
    shutil.rmtree(run / "review")
    done = roster("review", run)
    assert done.code == 2
    assert "roster review MODEL TEXT" in done.err


def test_label_takes_the_corrections_of_a_review_and_of_an_audit(
    roster: Any, begun: Path, gold: list[Sentence], runs: dict[str, Path], tmp_path: Path
) -> None:
    done = roster("review", begun, stdin=typed(begun, gold, len(gold)))
    assert done.code == 0, done.err
    roster("audit", runs["roster"], "-o", tmp_path / "audit")
    (tmp_path / "names.tsv").write_text("Ada\tPER\nOslo\tLOC\nhouse\tLOC\n")
    (tmp_path / "more.tsv").write_text("# by hand\nremove\thouse\tLOC\n")
    (tmp_path / "text.txt").write_text("Mr Ada lives in Oslo .\nthe house\n")
    patches = [begun / "corrections.tsv", tmp_path / "audit" / "patch.tsv", tmp_path / "more.tsv"]
    done = roster(
        "label", tmp_path / "text.txt", "--dictionary", tmp_path / "names.tsv", "-o", tmp_path / "data",
        "--patch", *patches,
    )  # fmt: skip
    assert done.code == 0, done.err
    labels = {x for s in read(tmp_path / "data" / "train.jsonl") for x in map(s.span_text, s.spans or ())}
    assert labels == {"Ada", "Oslo"}
