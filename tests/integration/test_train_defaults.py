"""`roster train` without settings: what it derives and tells, a time budget, and models that do not learn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.dataset import load_dataset
from roster.methods.defaults import settle
from roster.methods.facts import facts_of
from roster.methods.request import load_config, load_request, read_config
from roster.methods.roster.label_removal import COMPLETE
from roster.methods.roster.settings import Ensemble, NoiseRobust, SelfTraining

RATE = ("--set", "noise_robust.learning_rate=5e-3", "--set", "ensemble.learning_rate=5e-3")
"""The tiny encoder of these tests has random weights; the rate of a pre-trained one teaches it nothing."""
FEW = ("--set", "ensemble.models=2", "--set", "optimiser.batch_size=8")


def results(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "results.json").read_text())
    return found


def lines_of(run: Path) -> list[str]:
    return [line.split(" ", 2)[2] for line in (run / "log.txt").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def derived(roster: Any, corpus: Path, backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which only the rates and the size of the ensemble are given."""
    run: Path = tmp_path_factory.mktemp("derived") / "run"
    done = roster("train", corpus, "-o", run, "--backbone", backbone, *FEW, *RATE)
    assert done.code == 0, done.err
    return run


def test_it_learns_without_settings(derived: Path) -> None:
    stages = results(derived)["stages"]
    assert stages["self-training"]["scores"]["test"]["f1"] > 0.6  # eight seeds: .83 to 1.00
    found = results(derived)["found"]
    assert set(found) == {"PER", "LOC"}
    assert all(one["labels_found"] > 0.5 * one["labels"] for one in found.values())
    assert results(derived)["warnings"] == []


def test_the_derivation_is_in_the_log(derived: Path, corpus: Path) -> None:
    (told,) = [line for line in lines_of(derived) if line.startswith("Settings derived")]
    config = read_config(derived / "config.toml")
    words = sum(len(line.split()) for line in (corpus / "train_text.txt").read_text().splitlines())
    labels = (corpus / "train_label_dist.txt").read_text().count("B-")
    for part in (f"60 sentences ({words} words) with {labels} labels", "2 types", "width 48", "2 members",
                 f"{config.section(NoiseRobust).epochs} epochs", "0.005"):  # fmt: skip
        assert part in told, part


def test_the_written_config_has_plain_values(derived: Path, corpus: Path, backbone: Path) -> None:
    """Those derived from this corpus, with nothing left to derive."""
    config = read_config(derived / "config.toml")
    given = {"backbone.name": str(backbone), "ensemble.models": 2, "optimiser.batch_size": 8,
             "noise_robust.learning_rate": 5e-3, "ensemble.learning_rate": 5e-3}  # fmt: skip
    request = load_request(overrides=given)
    assert config == settle(request, facts_of(request.config(), load_dataset(corpus).train))[0]
    assert config.section(NoiseRobust).epochs != load_config().section(NoiseRobust).epochs
    assert config.section(NoiseRobust).folds
    assert (derived / "model" / "config.toml").read_text() == (derived / "config.toml").read_text()


def test_printed_configs(derived: Path, corpus: Path, backbone: Path, roster: Any) -> None:
    """The file of a run gives its config again, on any data; without it, the data decides."""
    written = (derived / "config.toml").read_text()
    options = ("--backbone", backbone, *FEW, *RATE, "--print-config")
    for command in (
        ("--config", derived / "config.toml", "--print-config"),
        (corpus, "--config", derived / "config.toml", "--print-config"),
        (corpus, *options),
    ):
        done = roster("train", *command)
        assert (done.code, done.out) == (0, written), done.err
    static = roster("train", *options)  # no data: the paper's values
    assert static.code == 0
    assert f"epochs = {load_config().section(NoiseRobust).epochs}\n" in static.out
    assert static.out != written
    paper = roster("train", corpus, "--preset", "paper-wikigold", "--print-config")
    assert paper.out == roster("train", "--preset", "paper-wikigold", "--print-config").out


def test_a_resumed_run_keeps_its_settings(derived: Path, corpus: Path, backbone: Path, roster: Any) -> None:
    """The same command finds a finished run; another budget changes nothing any more."""
    before = {name: (derived / name).read_bytes() for name in ("config.toml", "log.txt")}
    for more in ((), ("--minutes", "0.001")):
        done = roster("train", corpus, "-o", derived, "--backbone", backbone, *FEW, *RATE, *more)
        assert done.code == 0, done.err
    assert {name: (derived / name).read_bytes() for name in before} == before
    refused = roster("train", corpus, "-o", derived, "--backbone", backbone, *FEW)
    assert refused.code == 2
    assert "made with another config" in refused.err


@pytest.mark.parametrize("minutes", ["0", "-1", "nan"])
def test_no_time_at_all(minutes: str, corpus: Path, roster: Any, tmp_path: Path) -> None:
    done = roster("train", corpus, "-o", tmp_path / "run", "--minutes", minutes)
    assert done.code == 2
    assert f"--minutes must be more than 0, not {minutes}" in done.err
    assert not (tmp_path / "run").exists()


def test_a_preset_has_no_budget(corpus: Path, roster: Any, tmp_path: Path) -> None:
    done = roster("train", corpus, "-o", tmp_path / "run", "--minutes", "5", "--preset", "paper-conll03")
    assert done.code == 2
    assert "--minutes shortens derived settings" in done.err
    assert not (tmp_path / "run").exists()


def test_little_time_means_one_model(corpus: Path, backbone: Path, roster: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = roster("train", corpus, "-o", run, "--backbone", backbone, *RATE, "--minutes", "0.001",
                  "--set", "optimiser.batch_size=8")  # fmt: skip
    assert done.code == 0, done.err
    assert list(results(run)["stages"]) == ["member-0", "model"]
    config = read_config(run / "config.toml")
    assert not config.section(Ensemble).enabled
    assert not config.section(SelfTraining).enabled
    (told,) = [line for line in lines_of(run) if line.startswith("Settings derived")]
    assert "One model" in told
    assert "To fit into 0.001 minutes" in told
    assert results(run)["stages"]["member-0"]["scores"]["test"]["f1"] > 0.3  # one member alone: .39 to 1.00


def test_much_time_changes_nothing(derived: Path, corpus: Path, backbone: Path, roster: Any) -> None:
    done = roster("train", corpus, "--backbone", backbone, *FEW, *RATE, "--minutes", "1000", "--print-config")
    assert done.out == (derived / "config.toml").read_text()


@pytest.fixture
def write_data(write_lines: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    def write(*pairs: tuple[str, str], copies: int = 1) -> Path:
        texts, tags = zip(*(pairs * copies), strict=True)
        return write_lines(tmp_path / "data", texts, tags)

    return write


NAMED = ("Mr Ada lives in Oslo .", "O B-PER O O O O")
OTHER = ("the train was late and the road closed .", "O O O O O O O O O")
THE = ("The train was late and the road closed .", "B-PER O O O O O O O O")
ODD = ("the train was late and the road closed .", "O B-ORG O O O O O O O")


def test_a_type_that_was_not_learned(
    write_data: Callable[..., Path], backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """One in ten of the same words has its label, and O labels are trusted: it is not found. People are."""
    data, run = write_data(*[NAMED] * 4, ODD, *[OTHER] * 9, copies=12), tmp_path / "run"
    done = roster("train", data, "-o", run, "--backbone", backbone, *FEW, *RATE,
                  "--set", "noise_robust.epochs=4", "--set", "noise_robust.balance=false",
                  "--set", "noise_robust.drop_o=0")  # fmt: skip
    assert done.code == 0, done.err
    warning = "ORG: the model finds 0 of the 12 labels in its own training text"
    assert results(run)["warnings"] == [warning]
    assert results(run)["found"]["PER"]["labels_found"] == 48
    ending = done.err.splitlines()[-5:]
    assert ending[0].endswith("where furthest from the labels: ORG 0 (12 labels)")
    assert ending[1] == f"warning: {warning}"
    assert "too few to learn from" in ending[2]
    assert f"warning: {warning}" in lines_of(run)


def test_training_is_doubled_where_the_labels_look_complete(
    write_data: Callable[..., Path], backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """Every name has its label, so members predict none outside."""
    data, run = write_data(*[NAMED] * 4, *[OTHER] * 4, copies=12), tmp_path / "run"
    done = roster("train", data, "-o", run, "--backbone", backbone, *FEW, *RATE,
                  "--set", "noise_robust.epochs=4", "--set", "self_training.enabled=false")  # fmt: skip
    assert done.code == 0, done.err
    for name in ("member-0", "member-1"):
        stage = results(run)["stages"][name]
        assert (stage["extended"], stage["outside_labels"] < COMPLETE) == (True, True)
        assert any(f"training continues for {name}" in line for line in lines_of(run))


@pytest.mark.parametrize("skip", [True, False])
def test_labels_on_common_words(
    skip: bool, write_data: Callable[..., Path], backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """`The` is labelled wherever it begins a sentence. A model that is taught these labels repeats them."""
    data, run = write_data(*[NAMED] * 4, THE, *[OTHER] * 4, copies=12), tmp_path / "run"
    done = roster("train", data, "-o", run, "--backbone", backbone, *RATE, "--set", "optimiser.batch_size=8",
                  "--set", "ensemble.enabled=false", "--set", "self_training.enabled=false",
                  "--set", f"noise_robust.skip_common_words={str(skip).lower()}")  # fmt: skip
    assert done.code == 0, done.err
    told = "12 labels on common words at the start of sentences are not used: The (12)"
    assert (told in lines_of(run)) == skip
    assert results(run).get("skipped_labels", {}) == ({"The": 12} if skip else {})
    predicted = roster("predict", run / "model", stdin=f"{THE[0]}\n{NAMED[0]}\n")
    found = {span["text"] for line in predicted.out.splitlines() for span in json.loads(line)["spans"]}
    assert found == ({"Ada"} if skip else {"The", "Ada"})


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_member_that_did_not_learn_is_trained_again(
    ensemble: bool, corpus: Path, backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """One epoch of eight steps teaches nothing; the second go has enough."""
    run = tmp_path / "run"
    done = roster("train", corpus, "-o", run, "--backbone", backbone, *FEW, *RATE,
                  "--set", "noise_robust.epochs=1", "--set", "self_training.enabled=false",
                  "--set", f"ensemble.enabled={str(ensemble).lower()}")  # fmt: skip
    assert done.code == 0, done.err
    stages = results(run)["stages"]
    members = [name for name in stages if name.startswith("member-")]
    assert len(members) == (2 if ensemble else 1)
    for name in members:
        assert stages[name]["trained_again"] is True
        assert len(stages[name]["losses"]) > 10  # epochs of the second go
        assert stages[name]["scores"]["test"]["f1"] > 0.8
        told = [line for line in lines_of(run) if line.startswith(f"{name} finds ")]
        assert told[0].endswith("% of its labels; it is trained again with cross entropy")
    assert stages["ensemble" if ensemble else "member-0"]["scores"]["test"]["f1"] > 0.8
    predicted = roster("predict", run / "model", stdin="Mr Boris lives in Oslo .")
    assert ("Boris", "PER") in [(span["text"], span["label"]) for span in json.loads(predicted.out)["spans"]]


@pytest.mark.parametrize("ensemble", [True, False])
def test_labels_that_nothing_can_learn(
    ensemble: bool, write_data: Callable[..., Path], backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """One in forty of the same words has its label. There is no model then, but an error, also the second
    time."""
    data, run = write_data(ODD, *[OTHER] * 39, copies=2), tmp_path / "run"
    command = ("train", data, "-o", run, "--backbone", backbone, *FEW, *RATE,
               "--set", "noise_robust.epochs=1",
               "--set", f"ensemble.enabled={str(ensemble).lower()}")  # fmt: skip
    for _ in range(2):
        done = roster(*command)
        assert done.code == 2, done.err
        last = done.err.splitlines()[-1]
        assert last.startswith("roster: ")
        assert "nothing can be learned from" in last
        assert "A larger dictionary or more text" in last
        assert not (run / "model").exists()


def test_a_teacher_that_finds_nothing(
    write_data: Callable[..., Path], backbone: Path, roster: Any, tmp_path: Path
) -> None:
    """BOND on text with few labels: the run tells what its last teacher taught."""
    data, run = write_data(NAMED, *[OTHER] * 40, copies=2), tmp_path / "run"
    done = roster("train", data, "-o", run, "--backbone", backbone, "--method", "bond",
                  "--set", "bond.learning_rate=5e-3", "--set", "bond.epochs=2")  # fmt: skip
    assert done.code == 0, done.err
    assert any(line.startswith("bond: the last teacher found no entity") for line in lines_of(run))
