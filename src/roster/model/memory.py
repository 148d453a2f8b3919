"""A device without memory left: recognise this error, free what can be freed, and read in smaller batches."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TypeVar

import torch

T = TypeVar("T")

SIGNS = ("DefaultCPUAllocator: can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""Messages of errors that have no class of their own."""
FEWEST = 64
"""Sub-words in a batch below which reading is not tried again."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one it was raised from or after, is that a device has no memory left.

    An allocation that fails while a CUDA graph is recorded ends as an error of the recording.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, torch.OutOfMemoryError) or any(sign in str(error) for sign in SIGNS):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def release() -> None:
    """Free what nothing refers to; call it after the `except` clause, which refers to the failed frames."""
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()


def in_fitting_batches(read: Callable[[int], T], tokens: int) -> T:
    """The result of `read(tokens)`, with half as many sub-words in a batch while the device's memory is too
    small. What is read does not depend on the batches."""
    while True:
        try:
            return read(tokens)
        except Exception as error:
            if tokens < 2 * FEWEST or not is_out_of_memory(error):
                raise
        release()
        tokens //= 2
