"""The speed of a device: measured, not read from a data sheet."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SIZE = {"cuda": 8192, "cpu": 2048}
TRIES, AT_LEAST = 5, 0.3


def matrix_product_rate(device_name: str, precision: str) -> float:
    """Floating-point operations per second in a large matrix product, at the precision that training uses."""
    import torch

    from roster.model.reading import choose_device, number_type

    device = choose_device(device_name)
    dtype = number_type(device, precision)
    n = SIZE.get(device.type, SIZE["cpu"])
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    with torch.inference_mode():
        return 2 * n**3 / _fastest(lambda: a @ b, device)


def _fastest(work: Callable[[], Any], device: Any) -> float:
    """Seconds of the quickest try but the first: of TRIES, or of as many as fill AT_LEAST seconds."""
    import torch

    def finish() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    seconds: list[float] = []
    while len(seconds) <= TRIES or sum(seconds) < AT_LEAST:
        finish()
        start = time.perf_counter()
        work()
        finish()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
