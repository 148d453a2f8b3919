"""What goes wrong through the command line: one line that says what, exit code 2, nothing half-written.

And what only looks wrong, and works.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import roster as package
from roster.corpus.io import read
from roster.errors import DataError

WEIGHTS = Path("model") / "roster.safetensors"
QUICK = {
    "roster": (
        "noise_robust.epochs=1",
        "noise_robust.repair=false",
        "ensemble.models=1",
        "ensemble.epochs=1",
        "self_training.epochs=1",
    ),
    "fine-tune": ("fine_tune.epochs=1",),
}
Write = Callable[..., Path]


def refused(done: Any, *parts: str | Path) -> None:
    """The user's mistake, said in one line."""
    assert done.code == 2, (done.code, done.err)
    assert done.err.startswith("roster: "), done.err
    assert done.err.count("\n") == 1, done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert str(part) in done.err
    assert not done.out


@pytest.fixture
def train(roster: Any, settings: dict[str, Path], tmp_path: Path) -> Callable[..., Any]:
    """A quick run into `tmp_path/run`."""

    def run(
        data: str | Path, *options: str | Path, output: Path | None = None, method: str = "roster", **env: str
    ) -> Any:
        quick = [part for option in QUICK.get(method, ()) for part in ("--set", option)]
        return roster("train", data, "-o", output or tmp_path / "run", "--config", settings[method], *quick,
                      *options, **env)  # fmt: skip

    return run


@pytest.fixture
def refuse(train: Callable[..., Any], tmp_path: Path) -> Callable[..., None]:
    """A run that must not begin, and leaves no folder behind."""

    def run(data: str | Path, *options: str | Path, says: Sequence[str | Path]) -> None:
        refused(train(data, *options), *says)
        assert not (tmp_path / "run").exists()

    return run


# -- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [[], ["", "", ""]], ids=["no lines", "blank lines"])
def test_an_empty_corpus(texts: list[str], refuse: Any, write_lines: Write, tmp_path: Path) -> None:
    refuse(write_lines(tmp_path / "data", texts, texts), says=["there is no sentence to train on"])


def test_an_unlabelled_corpus(refuse: Any, write_lines: Write, tmp_path: Path) -> None:
    refuse(write_lines(tmp_path / "data", ["Ada left ."], None), says=["have no labels", "roster label"])
    refuse(
        write_lines(tmp_path / "o", ["Ada left ."], ["O O O"]),
        says=["no word of the training data has a label"],
    )


@pytest.mark.parametrize("content", ["", "\n\n", "surface\ttype\n"])
def test_an_empty_dictionary(content: str, tmp_path: Path) -> None:
    (tmp_path / "names.tsv").write_text(content)
    (tmp_path / "corpus.txt").write_text("Ada left.\n")
    with pytest.raises(DataError, match=r"names\.tsv: no entries"):
        package.label(tmp_path / "corpus.txt", tmp_path / "names.tsv")


def test_a_label_that_is_not_listed(refuse: Any, write_lines: Write, tmp_path: Path) -> None:
    data = write_lines(
        tmp_path / "data", ["Ada left .", "Oslo ."], ["B-PER O O", "B-GPE O"], types=["PER", "LOC"]
    )
    refuse(data, says=["train_label_dist.txt, line 2", "'GPE' is not in types.txt", "LOC, PER"])


def test_fewer_tags_than_words(refuse: Any, write_lines: Write, tmp_path: Path) -> None:
    data = write_lines(tmp_path / "data", ["Ada left .", "it rained ."], ["B-PER O O", "O O"])
    refuse(data, says=["train_label_dist.txt, line 2"])


def test_a_missing_data_set(refuse: Any, tmp_path: Path) -> None:
    refuse(tmp_path / "nothing", says=[tmp_path / "nothing", "no such file or folder"])
    (tmp_path / "empty").mkdir()
    refuse(tmp_path / "empty", says=["found no file to train on"])


def test_one_sentence_is_enough(train: Any, roster: Any, write_lines: Write, tmp_path: Path) -> None:
    done = train(write_lines(tmp_path / "data", ["Ada left ."], ["B-PER O O"]))
    assert done.code == 0, done.err
    assert roster("predict", tmp_path / "run", stdin="Ada left .").code == 0
    done = train(write_lines(tmp_path / "word", ["Ada"], ["B-PER"]), output=tmp_path / "second")
    assert done.code == 0, done.err


def test_a_type_without_a_label(train: Any, corpus: Path, roster: Any, tmp_path: Path) -> None:
    data = shutil.copytree(corpus, tmp_path / "data")
    (data / "types.txt").write_text("ORG\nPER\nLOC\n")
    done = train(data)
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "run/model/roster.json").read_text())["types"] == ["ORG", "PER", "LOC"]
    assert roster("evaluate", tmp_path / "run", data / "test_text.txt").code == 0


def test_words_without_a_sub_word(train: Any, roster: Any, write_lines: Write, tmp_path: Path) -> None:
    """Control and zero-width characters, alone and between words: trained on, and all there afterwards."""
    texts = ["\u200b \u200d\u200d \x01", "Ada \u200b left \x7f \u2060 .", "\u00ad"]
    data = write_lines(tmp_path / "data", texts, ["O O O", "B-PER O O O O O", "O"])
    done = train(data)
    assert done.code == 0, done.err
    done = roster("predict", tmp_path / "run", data / "train_text.txt", "-o", tmp_path / "found_text.txt")
    assert done.code == 0, done.err
    assert (tmp_path / "found_text.txt").read_text(encoding="utf-8").splitlines() == texts
    done = roster("predict", tmp_path / "run", stdin="\n".join(texts))
    assert [json.loads(line)["text"] for line in done.out.split("\n")[:-1]] == texts


def test_a_very_long_sentence(train: Any, roster: Any, write_lines: Write, tmp_path: Path) -> None:
    """5,000 words through windows of 32 sub-words, in training and afterwards."""
    words = ["Ada", "lives", "in", "Oslo", "and"] * 1000
    data = write_lines(
        tmp_path / "data", [" ".join(words)], [" ".join(["B-PER", "O", "O", "B-LOC", "O"] * 1000)]
    )
    done = train(data, "--set", "ensemble.enabled=false", "--set", "self_training.enabled=false")
    assert done.code == 0, done.err
    done = roster("predict", tmp_path / "run", data / "train_text.txt", "-o", tmp_path / "found_text.txt")
    assert done.code == 0, done.err
    (found,) = read(tmp_path / "found_text.txt")
    assert list(found.words) == words
    # Names far behind the first window are found as well as the first ones.
    assert sum(span.start >= 4000 for span in found.spans or ()) > 300


def test_line_ends_and_byte_order_marks(
    roster: Any, runs: dict[str, Path], corpus: Path, model: Path, settings: dict[str, Path], tmp_path: Path
) -> None:
    """The same words: the finished run knows the data as its own, and predictions are the same."""
    data = shutil.copytree(corpus, tmp_path / "data")
    for file in data.iterdir():
        lines = file.read_bytes().split(b"\n")[:-1]
        mixed = (line + (b"\r\n" if i % 3 else b"\n") for i, line in enumerate(lines))
        file.write_bytes(b"\xef\xbb\xbf" + b"".join(mixed))
    done = roster("train", data, "-o", runs["roster"], "--config", settings["roster"])
    assert done.code == 0, done.err
    plain = roster("predict", model, stdin="Mr Ada left Oslo .\nMr Hugo said nothing .\n")
    marked = roster("predict", model, stdin=b"\xef\xbb\xbfMr Ada left Oslo .\r\nMr Hugo said nothing .\r\n")
    assert marked.out == plain.out


def test_bytes_that_are_not_utf8(
    refuse: Any, roster: Any, model: Path, write_lines: Write, tmp_path: Path
) -> None:
    data = write_lines(tmp_path / "data", ["Ada left .", "X ."], ["B-PER O O", "O O"])
    (data / "train_text.txt").write_bytes(b"Ada left .\nZ\xfcrich .\n")
    refuse(data, says=[data / "train_text.txt", "line 2", "not UTF-8", "0xfc"])
    (tmp_path / "news.txt").write_bytes(b"Ada left.\nIt rained.\nZ\xfcrich.\n")
    done = roster("predict", model, tmp_path / "news.txt", "-o", tmp_path / "out.jsonl")
    refused(done, tmp_path / "news.txt", "line 3", "not UTF-8")
    assert not [p for p in tmp_path.iterdir() if "out.jsonl" in p.name]
    refused(roster("predict", model, stdin=b"Z\xfcrich.\n"), "standard input, line 1", "not UTF-8")


def test_a_broken_record(roster: Any, tmp_path: Path) -> None:
    good = '{"text": "Ada left.", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n'
    (tmp_path / "in.jsonl").write_text(good * 2 + '{"text": "Ada left.", "spans": [{"start": 0}]}\n')
    refused(roster("convert", tmp_path / "in.jsonl", tmp_path / "out.conll"), tmp_path / "in.jsonl", "line 3")
    assert [p.name for p in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_missing_input_file(roster: Any, model: Path, corpus: Path, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.txt"
    refused(roster("predict", model, nothing), nothing, "no such file")
    refused(roster("evaluate", model, nothing), nothing, "no such file")
    refused(roster("evaluate", nothing, corpus / "test_text.txt"), nothing, "no such file")
    refused(roster("convert", nothing, tmp_path / "out.jsonl"), nothing, "no such file")
    refused(
        roster("train", corpus, "-o", tmp_path / "run", "--config", nothing), nothing, "no such config file"
    )


def test_predictions_and_gold_of_other_lengths(roster: Any, tmp_path: Path) -> None:
    for name, lines in {"a": "O O\nO\n", "b": "O O\nO\nB-PER\n", "c": "O O\nO O\n"}.items():
        (tmp_path / f"{name}_label_true.txt").write_text(lines)
    a, b, c = (tmp_path / f"{name}_label_true.txt" for name in "abc")
    refused(roster("evaluate", a, b), "the gold labels go on after text 2")
    refused(roster("evaluate", b, a), "the predictions go on after text 2")
    refused(roster("evaluate", a, c, "--json"), "text 2 has 1 words in the predictions and 2 in the gold")


# -- models and backbones -------------------------------------------------------------------------


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGE: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "weights cut": ("roster.safetensors", cut),
    "weights empty": ("roster.safetensors", lambda path: path.write_bytes(b"")),
    "weights missing": ("roster.safetensors", Path.unlink),
    "facts broken": ("roster.json", cut),
    "facts without types": ("roster.json", lambda path: path.write_text('{"kind": "two-heads"}')),
    "facts no object": ("roster.json", lambda path: path.write_text("[1]")),
    "facts of another kind": (
        "roster.json",
        lambda path: path.write_text(path.read_text().replace("two-heads", "three-heads")),
    ),
    "fewer types": (
        "roster.json",
        lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "types": ["PER"]})),
    ),
    "facts missing": ("roster.json", Path.unlink),
    "architecture broken": ("config.json", cut),
    "architecture missing": ("config.json", Path.unlink),
    "another architecture": (
        "config.json",
        lambda path: path.write_text(path.read_text().replace('"hidden_size": 48', '"hidden_size": 24')),
    ),
    "tokenizer broken": ("tokenizer.json", cut),
    "tokenizer missing": ("tokenizer.json", Path.unlink),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_model(damage: str, roster: Any, model: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(model, tmp_path / "model")
    name, harm = DAMAGE[damage]
    harm(broken / name)
    done = roster("predict", broken, "-o", tmp_path / "out.jsonl", stdin="Mr Ada left Oslo .\n")
    refused(done, broken)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


def test_no_model(roster: Any, tmp_path: Path) -> None:
    refused(roster("predict", tmp_path / "nothing"), "there is no model folder", tmp_path / "nothing")
    refused(roster("predict", tmp_path), tmp_path, "is not a model")
    (tmp_path / "file").touch()
    refused(roster("predict", tmp_path / "file"), "there is no model folder")


def test_no_backbone(refuse: Any, train: Any, corpus: Path, backbone: Path, tmp_path: Path) -> None:
    refuse(
        corpus, "--backbone", tmp_path / "nothing", says=["there is no backbone folder", tmp_path / "nothing"]
    )
    (tmp_path / "empty").mkdir()
    refuse(corpus, "--backbone", tmp_path / "empty", says=[tmp_path / "empty", "it has no config.json"])
    refuse(
        corpus,
        "--backbone",
        "nobody/nothing",
        says=["'nobody/nothing'", "Hugging Face hub", "roster-small-en-2"],
    )
    broken = shutil.copytree(backbone, tmp_path / "broken")
    (broken / "tokenizer.json").unlink()
    refuse(corpus, "--backbone", broken, says=[broken, "tokenizer"])
    # The corrected command has its folder.
    assert train(corpus, method="fine-tune").code == 0


def test_a_backbone_without_a_language_model_is_said_at_once(
    refuse: Any, train: Any, corpus: Path, backbone: Path, tmp_path: Path
) -> None:
    """Before the members are trained, which may take hours."""
    from transformers import AutoModel, AutoTokenizer

    AutoModel.from_pretrained(backbone).save_pretrained(tmp_path / "headless")
    AutoTokenizer.from_pretrained(backbone).save_pretrained(tmp_path / "headless")
    options = ("--backbone", tmp_path / "headless")
    refuse(corpus, *options, says=["no trained masked-language-model head", "augmentation.enabled=false"])
    done = train(corpus, *options, "--set", "augmentation.enabled=false")
    assert done.code == 0, done.err


# -- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--preset", "huge"], ["--preset", "huge", "paper-conll03", "roster train --help"]),
        (["--method", "magic"], ["--method", "magic", "fine-tune"]),
        (["--sett", "seed=1"], ["--sett"]),
        (["--set", "noise_robust.p=1"], ["there is no option 'noise_robust.p'", "q"]),
        (["--set", "noise_robust.q=2"], ["'noise_robust.q' must be between 0 and 1, not 2"]),
        (["--set", "ensemble.models=1e9"], ["'ensemble.models' must be between 1 and 100, not 1000000000"]),
        (["--set", "noise_robust.q=much"], ["'noise_robust.q' must be a number, not 'much'"]),
        (["--set", "seed"], ["expected a.b=value"]),
        (["--set", "noise_robust=1"], ["'noise_robust' is a section"]),
        (["--format", "word"], ["--format", "'word'", "jsonl"]),
        (["--gold", "nowhere.jsonl"], ["nowhere.jsonl: no such gold file"]),
        (["--set", "bond.epochs=1"], ["[bond] belongs to the method bond; the method is roster"]),
        (["--method", "bond", "--set", "bond.epochs=1"], ["[noise_robust] belongs to the method roster"]),
        (["--set", "bilstm.hidden=8"], ["'bilstm.hidden' has no effect", "backbone.name is bilstm-cnn"]),
        (["--set", "optimiser.device=cuda"], ["the device 'cuda' cannot be used here"]),
        (["--set", "optimiser.device=abacus"], ["the device 'abacus' cannot be used here"]),
    ],
)
def test_wrong_options(options: list[str], says: list[str], refuse: Any, corpus: Path) -> None:
    refuse(corpus, *options, says=says)


def test_a_teacher_that_never_begins(train: Any, corpus: Path, tmp_path: Path) -> None:
    done = train(corpus, "--set", "bond.epochs=1", method="bond")
    refused(done, "bond.begin_step is 40", "has 8 steps")
    assert not (tmp_path / "run").exists()


def test_wrong_commands(roster: Any, model: Path, tmp_path: Path) -> None:
    refused(roster("trian"), "trian", "train", "predict")
    refused(roster("train"), "give a data set and a run folder")
    refused(roster("predict"), "MODEL", "roster predict --help")
    refused(roster("predict", model, "--device", "cuda", stdin="x"), "the device 'cuda' cannot be used here")
    (tmp_path / "broken.toml").write_text("seed = \n")
    refused(
        roster("train", "x", "-o", "y", "--config", tmp_path / "broken.toml"), "broken.toml: not a TOML file"
    )


def test_a_file_to_write_without_a_known_ending(roster: Any, model: Path, tmp_path: Path) -> None:
    """The option to give is that of the command."""
    (tmp_path / "in.txt").write_text("Mr Ada left Oslo .\n")
    for command in (("predict", model, tmp_path / "in.txt", "-o"), ("convert", tmp_path / "in.txt")):
        refused(
            roster(*command, tmp_path / "out.xyz"), "out.xyz: its name does not tell which of", "with --to"
        )
        done = roster(*command, tmp_path / "out.xyz", "--to", "jsonl")
        assert done.code == 0, done.err


def test_a_folder_with_several_splits(roster: Any, model: Path, tmp_path: Path) -> None:
    """As `datasets` saves a DatasetDict: each command that reads it takes --split."""
    tokens, tags = ["Mr", "Ada", "left", "Oslo", "."], ["O", "B-PER", "O", "B-LOC", "O"]
    for split, copies in (("train", 2), ("test", 3)):
        file = tmp_path / f"{split}.jsonl"
        file.write_text((json.dumps({"tokens": tokens, "tags": tags}) + "\n") * copies)
        assert roster("convert", file, tmp_path / "d" / split, "--to", "arrow").code == 0
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    refused(roster("predict", model, tmp_path / "d"), "it has the splits train, test", "--split")
    done = roster("predict", model, tmp_path / "d", "--split", "test")
    assert (done.code, len(done.out.splitlines())) == (0, 3), done.err
    refused(roster("evaluate", model, tmp_path / "d"), "it has the splits train, test", "--split")
    for predicted in (model, tmp_path / "d"):
        done = roster("evaluate", predicted, tmp_path / "d", "--split", "test", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["support"] == 6


def test_debug_shows_the_traceback(roster: Any, tmp_path: Path) -> None:
    done = roster("predict", tmp_path / "nothing", "--debug")
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("roster: there is no model folder")


# -- places to write ------------------------------------------------------------------------------


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """A small file system of its own; needs the right to mount one."""
    mounted = []

    def make(options: str) -> Path:
        disk = tmp_path / f"disk{len(mounted)}"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("there is no mount command here")
        if done.returncode:
            pytest.skip(f"no right to mount a small disk: {done.stderr.strip()}")
        mounted.append(disk)
        return disk

    yield make
    for disk in mounted:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("place", ["file/run", "/proc/roster/run"])
def test_no_place_to_write(
    place: str, train: Any, roster: Any, corpus: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    refused(train(corpus, output=tmp_path / place), "cannot make the folder", place)
    refused(roster("predict", model, "-o", tmp_path / place / "x.jsonl", stdin="x"), "cannot write", place)
    refused(roster("convert", corpus / "train_text.txt", tmp_path / place / "x.jsonl"), "cannot write", place)


def test_the_run_folder_is_a_file(train: Any, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    refused(train(corpus), "is a file; a run needs a folder")
    assert (tmp_path / "run").read_text() == "mine"


def test_a_read_only_disk(train: Any, roster: Any, corpus: Path, model: Path, mount: Any) -> None:
    disk = mount("ro,size=1m")
    refused(train(corpus, output=disk / "run"), "Read-only file system")
    refused(roster("predict", model, "-o", disk / "x.jsonl", stdin="x"), "Read-only file system")


@pytest.mark.parametrize("share", [0.02, 0.25, 0.6, 0.95])
def test_a_full_disk(share: float, train: Any, corpus: Path, mount: Any, tmp_path: Path) -> None:
    """Wherever it fills up: said in one line, nothing half-written, and with more room the run goes on.

    The disk is smaller than the finished run, so it fills up whatever was written and removed before.
    """
    assert train(corpus).code == 0
    size = sum(p.stat().st_size for p in (tmp_path / "run").rglob("*") if p.is_file())
    disk = mount(f"size={max(8, int(share * size) >> 10)}k")
    done = train(corpus, output=disk / "run")
    assert done.code == 2, done.err
    assert "Traceback" not in done.err
    last = done.err.splitlines()[-1]
    assert last.startswith("roster: cannot write")
    assert "No space left on device" in last
    assert not [p for p in disk.rglob("*") if p.name.endswith(".part")]
    assert not (disk / "run" / "model").exists()
    subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
    again = train(corpus, output=disk / "run")
    assert again.code == 0, again.err
    assert (disk / "run" / WEIGHTS).read_bytes() == (tmp_path / "run" / WEIGHTS).read_bytes()


def test_no_room_for_predictions(roster: Any, model: Path, mount: Any) -> None:
    disk = mount("size=16k")
    text = "Mr Ada left Oslo .\n" * 500
    refused(roster("predict", model, "-o", disk / "x.jsonl", stdin=text), disk / "x.jsonl", "No space left")
    assert list(disk.iterdir()) == []
    for amount in (text, "Ada\n"):  # noticed while writing, and when the last of it is written
        refused(roster("predict", model, stdin=amount, stdout="/dev/full"), "No space left on device")


def test_a_reader_that_has_gone(model: Path, environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("Mr Ada left Oslo .\n" * 3000)
    command = f"'{sys.executable}' -m roster.cli.main predict '{model}' '{tmp_path / 'texts.txt'}'"
    script = f"set -o pipefail; {command} | head -1"
    done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["text"] == "Mr Ada left Oslo ."


def test_a_terminal_of_another_encoding(roster: Any, model: Path) -> None:
    done = roster("predict", model, stdin="Mr Ada ate crème .\n", PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    assert json.loads(done.out)["text"] == "Mr Ada ate crème ."


@pytest.mark.parametrize("through_a_link", [False, True])
@pytest.mark.parametrize("command", ["predict", "convert", "label", "label the dictionary", "label a folder"])
def test_what_is_read_is_not_written_to(
    command: str, through_a_link: bool, runs: dict[str, Path], roster: Any, tmp_path: Path
) -> None:
    """Under its own name or another: the input stays as it is, labels and all."""
    data, names = tmp_path / "data" / "x.jsonl", tmp_path / "names.tsv"
    data.parent.mkdir()
    data.write_text('{"text": "Oslo is cold .", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}\n')
    names.write_text("Oslo\tLOC\nBergen\tLOC\nAda\tPER\n")
    output = {"label the dictionary": names}.get(command, data)
    if through_a_link:
        (tmp_path / f"link{output.suffix}").symlink_to(output)
        output = tmp_path / f"link{output.suffix}"
    arguments = {
        "predict": ("predict", runs["roster"], data, "-o", output),
        "convert": ("convert", data, output),
        "label": ("label", data, "--dictionary", names, "-o", output),
        "label the dictionary": ("label", data, "--dictionary", names, "-o", output, "--to", "jsonl"),
        "label a folder": ("label", data.parent, "--dictionary", names, "-o", output),
    }[command]
    before = data.read_bytes(), names.read_bytes()
    done = roster(*arguments)
    assert done.code == 2
    assert "is an input of this command; choose another output file" in done.err
    assert (data.read_bytes(), names.read_bytes()) == before
