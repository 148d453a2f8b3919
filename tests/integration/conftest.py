"""Whole commands in processes of their own, on a toy corpus and a tiny encoder that learns it in seconds."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import string
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "roster.cli.main"]

PEOPLE = ("Ada", "Boris", "Clara", "Dmitri", "Elena", "Farid", "Greta", "Hugo")
PLACES = ("Oslo", "Lima", "Cairo", "Quito", "Turin", "Dakar", "Porto", "Minsk")
SENTENCES = (
    "Mr {PER} lives in {LOC} .",
    "the train from {LOC} was late .",
    "yesterday Mr {PER} said nothing .",
    "it rained in {LOC} all day .",
    "Mr {PER} met Mr {PER} in {LOC} .",
    "nobody was there , not even the dog .",
    "the road to {LOC} and the road from {LOC} are closed .",
    "tomorrow Mr {PER} will paint the house .",
)


@dataclass(frozen=True)
class Done:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


class Started:
    """A command under way."""

    def __init__(self, pid: int, reader: Callable[[], Done]):
        self.pid, self._reader = pid, reader
        self._result: list[Done] = []
        self._thread = threading.Thread(target=lambda: self._result.append(reader()))
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> Done:
        self._thread.join()
        return self._result[0]

    def send(self, number: signal.Signals) -> Done:
        if self.running:
            os.kill(self.pid, number)
        return self.wait()


class Roster:
    """`roster ...` as a process: `roster("predict", model, stdin="...")`. See `warm.py`."""

    def __init__(self, environment: dict[str, str], folder: Path):
        self.environment, self.folder = environment, folder
        self._numbers = count()

    @cached_property
    def _server(self) -> subprocess.Popen[str]:
        warm = str(Path(__file__).with_name("warm.py"))
        return subprocess.Popen([sys.executable, warm], env=self.environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)  # fmt: skip

    def start(
        self,
        *arguments: str | Path,
        stdin: str | bytes = b"",
        stdout: str | Path | None = None,
        cwd: str | Path | None = None,
        **env: str,
    ) -> Started:
        streams = [self.folder / f"{next(self._numbers)}.{name}" for name in ("in", "out", "err")]
        streams[0].write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
        given = [streams[0], stdout or streams[1], streams[2]]
        job = {"arguments": [*map(str, arguments)], "streams": [*map(str, given)],
               "cwd": str(cwd or self.folder), "env": env}  # fmt: skip
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(job) + "\n")
        self._server.stdin.flush()
        replies = self._server.stdout

        def reader() -> Done:
            code = int(replies.readline())
            out = "" if stdout else streams[1].read_text(encoding="utf-8")
            return Done(code, out, streams[2].read_text(encoding="utf-8"))

        return Started(int(replies.readline()), reader)

    def __call__(self, *arguments: str | Path, **options: Any) -> Done:
        return self.start(*arguments, **options).wait()

    def cold(self, *arguments: str | Path, **options: Any) -> Done:
        """The same from a fresh Python."""
        done = subprocess.run([*COMMAND, *map(str, arguments)], env=self.environment, cwd=self.folder,
                              capture_output=True, text=True, encoding="utf-8", **options)  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def cpu_seconds(self, *arguments: str | Path, **options: Any) -> float:
        """Processor time of a command in a fresh Python."""
        return cpu_seconds([*COMMAND, *map(str, arguments)], self.environment, **options)

    def close(self) -> None:
        if "_server" in self.__dict__:
            self._server.communicate()


def cpu_seconds(command: Sequence[str], environment: dict[str, str], **options: Any) -> float:
    """Processor time of a command, the least of three: unlike elapsed time, the same on a busy machine."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, capture_output=True, check=True, **options)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(3))


@pytest.fixture(scope="session")
def cpu_of_torch(environment: dict[str, str]) -> float:
    """Processor time that importing torch takes here: what quick commands are compared with."""
    return cpu_seconds([sys.executable, "-c", "import torch"], environment)


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """No network, no GPU, one thread, and a Hugging Face cache of its own."""
    return {
        **os.environ,
        "PYTHONPATH": str(REPOSITORY / "src"),
        "HF_HOME": str(tmp_path_factory.mktemp("hf")),
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


@pytest.fixture(scope="session")
def roster(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Roster]:
    server = Roster(environment, tmp_path_factory.mktemp("commands"))
    yield server
    server.close()


class Benchmarks:
    """`python -m benchmarks ...` as a process, in a folder other than the repository."""

    def __init__(self, environment: dict[str, str], folder: Path):
        paths = [environment["PYTHONPATH"], str(REPOSITORY)]
        self.environment, self.folder = {**environment, "PYTHONPATH": os.pathsep.join(paths)}, folder

    def __call__(self, *arguments: str | Path) -> Done:
        command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True,
                              encoding="utf-8")  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def benchmarks(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Benchmarks:
    return Benchmarks(environment, tmp_path_factory.mktemp("benchmarks"))


def make_sentences(number: int, seed: int, forget: float = 0.0) -> tuple[list[str], list[str]]:
    """Lines of words and lines of tags; of the names, the share `forget` is not labelled."""
    draw = random.Random(seed)
    texts, tags = [], []
    for _ in range(number):
        words, labels = [], []
        for slot in draw.choice(SENTENCES).split():
            kind = slot.strip("{}") if slot.startswith("{") else ""
            words.append(draw.choice(PEOPLE if kind == "PER" else PLACES) if kind else slot)
            labels.append(f"B-{kind}" if kind and draw.random() >= forget else "O")
        texts.append(" ".join(words))
        tags.append(" ".join(labels))
    return texts, tags


@pytest.fixture(scope="session")
def write_lines() -> Callable[..., Path]:
    """Writes a data set in the layout of lines."""

    def write(folder: Path, texts: Sequence[str], tags: Sequence[str] | None, split: str = "train",
              labels: str = "dist", types: Sequence[str] | None = None) -> Path:  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        put = {f"{split}_text.txt": texts, f"{split}_label_{labels}.txt": tags, "types.txt": types}
        for name, lines in put.items():
            if lines is not None:
                (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, write_lines: Callable[..., Path]) -> Path:
    """60 sentences with a tenth of the names unlabelled, and 30 with all of them, to score on."""
    folder = tmp_path_factory.mktemp("toy") / "data"
    write_lines(folder, *make_sentences(60, 1, forget=0.1), types=["PER", "LOC"])
    return write_lines(folder, *make_sentences(30, 2), split="test", labels="true")


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights and a head; its WordPieces are those of the toy corpus."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    pad, unk, cls, sep, mask = special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = string.ascii_letters + string.digits
    words = {word for text in make_sentences(200, 3)[0] for word in text.split()}
    pieces = [*special, *sorted(words | set(letters + ".,'-")), *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token=unk))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}", special_tokens=[(cls, 2), (sep, 3)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token=pad, unk_token=unk, cls_token=cls,
                                   sep_token=sep, mask_token=mask)  # fmt: skip
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(fast), hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=96, max_position_embeddings=64, initializer_range=0.1)  # fmt: skip
    folder = tmp_path_factory.mktemp("backbone") / "tiny"
    BertForMaskedLM(config).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def settings(backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The config of the toy runs of each method."""
    folder, files = tmp_path_factory.mktemp("settings"), {}
    for method in (*OWN, "autoner"):
        files[method] = folder / f"{method}.toml"
        files[method].write_text(SHARED.format(method=method, backbone=backbone) + OWN.get(method, ""))
    return files


SHARED = """\
method = "{method}"
seed = 5
[backbone]
name = "{backbone}"
max_length = 32
[optimiser]
batch_size = 8
"""
OWN = {
    "roster": """\
[noise_robust]
epochs = 8
learning_rate = 5e-3
update_every = 20
[ensemble]
models = 2
epochs = 6
learning_rate = 5e-3
[self_training]
epochs = 3
learning_rate = 1e-4
update_every = 5
""",
    "fine-tune": """\
[fine_tune]
epochs = 12
learning_rate = 5e-3
""",
    "bond": """\
[bond]
epochs = 12
learning_rate = 5e-3
begin_step = 40
period = 20
""",
}


class Runs(dict[str, Path]):
    """An unbroken run of each method, trained by a fresh process when a test first asks for it."""

    def __init__(self, train: Callable[[str, Path], Done], folder: Path):
        super().__init__()
        self._train, self._folder = train, folder

    def __missing__(self, method: str) -> Path:
        done = self._train(method, self._folder / method)
        assert done.code == 0, done.err
        self[method] = self._folder / method
        return self[method]


@pytest.fixture(scope="session")
def runs(
    roster: Roster, corpus: Path, settings: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Runs:
    """The run folder of each method of `OWN`; nothing may write to it."""

    def train(method: str, run: Path) -> Done:
        return roster.cold("train", corpus, "-o", run, "--config", settings[method])

    return Runs(train, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def model(runs: dict[str, Path]) -> Path:
    """A trained model folder; nothing may write to it."""
    return runs["roster"] / "model"
