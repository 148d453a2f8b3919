"""One pass of a model over a corpus, without dropout: the distribution of every word."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.model.batches import Batch, DeviceCorpus
from roster.model.heads import Model
from roster.model.memory import in_fitting_batches
from roster.model.processor import multiplies_bf16, single_threads

TOKENS = {"cuda": 32768, "cpu": 1024}
"""Sub-words in a batch: wide on a GPU; on a CPU as few as its caches like, and not so few that calls cost."""


def choose_device(name: str = "auto") -> torch.device:
    from roster.errors import ConfigError

    # cuDNN's attention makes a plan for every shape it meets, and sentences have many.
    torch.backends.cuda.enable_cudnn_sdp(False)
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"the device '{name}' cannot be used here: {str(error).splitlines()[0]}") from None
    return device


def number_type(device: torch.device, precision: str | None = None) -> torch.dtype:
    """What matrix products are made of.

    `auto` is for training: bf16 on a GPU and on a processor that multiplies it natively, float32 elsewhere.
    None is for prediction, which no config speaks of: bf16 on a GPU, but float32 on every CPU, so that a
    model finds the same on all of them, and an exported one can be compared with it.
    """
    native = device.type == "cuda" or (precision == "auto" and device.type == "cpu" and multiplies_bf16())
    low = precision == "bfloat16" or (precision in ("auto", None) and native)
    return torch.bfloat16 if low else torch.float32


def arithmetic(device: torch.device, precision: str | None = None) -> AbstractContextManager[Any]:
    """Matrix products in the number type of `number_type`; weights and all else stay float32."""
    dtype = number_type(device, precision)
    return nullcontext() if dtype == torch.float32 else torch.autocast(device.type, dtype)


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    was = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was)


def read_words(
    model: Model, corpus: DeviceCorpus, rows: np.ndarray, precision: str | None = None
) -> tuple[Tensor, Tensor]:
    """The words of some windows, by number, and their distributions [n, classes]."""
    return in_fitting_batches(
        lambda tokens: _read(
            model, list(corpus.batches(corpus.reading_plan(tokens, rows))), corpus.device, precision
        ),
        TOKENS.get(corpus.device.type, 2048),
    )


def read_probabilities(model: Model, corpus: DeviceCorpus, precision: str | None = None) -> Tensor:
    """[words, classes] in word order, float32, on the corpus's device; `precision` as in `number_type`."""
    if not corpus.encoded.n_windows:
        return torch.zeros(0, 1, device=corpus.device)
    words, p = in_fitting_batches(
        lambda tokens: _read(model, corpus.readings(tokens), corpus.device, precision),
        TOKENS.get(corpus.device.type, 2048),
    )
    found = torch.empty_like(p)
    found[words] = p
    return found


def _read(
    model: Model, batches: Sequence[Batch], device: torch.device, precision: str | None
) -> tuple[Tensor, Tensor]:
    """All words of some batches, by number, and their distributions.

    On a CPU each of torch's threads reads batches of its own. Then no core waits for another inside a matrix
    product: two cores read a quarter faster, and several times so where other programs keep them busy.
    """
    parts: dict[int, Tensor] = {}
    left = deque(range(len(batches)))

    def work() -> None:
        with torch.inference_mode(), arithmetic(device, precision):  # weights are cast once for many batches
            while True:
                try:
                    i = left.popleft()
                except IndexError:
                    return
                parts[i] = model.probabilities(batches[i])

    workers = min(torch.get_num_threads(), len(batches)) if device.type == "cpu" else 1
    with evaluating(model):
        if workers == 1:
            work()
        else:
            with single_threads(workers) as pool:
                try:
                    for job in [pool.submit(work) for _ in range(workers)]:
                        job.result()
                finally:
                    left.clear()
    return torch.cat([batch.words for batch in batches]), torch.cat([parts[i] for i in range(len(batches))])
