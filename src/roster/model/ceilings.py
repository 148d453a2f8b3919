"""What a device does at the most: measured, not read from a data sheet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Ceilings:
    """What the machine does in a second: in a large matrix product, and in moving a large array."""

    device: str
    precision: str
    operations: float
    bytes: float


def best(looks: Sequence[Ceilings]) -> Ceilings:
    """Of several looks at one device, the highest of each: what slows one down is not the device's own."""
    operations, moved = (max(getattr(look, name) for look in looks) for name in ("operations", "bytes"))
    return replace(looks[0], operations=operations, bytes=moved)


PRODUCT = {"cuda": 8192, "cpu": 2048}
COPY = {"cuda": 2**30, "cpu": 2**28}
TRIES, AT_LEAST = 5, 0.3


def measure_ceilings(device_name: str, precision: str) -> Ceilings:
    """The best of some tries, on the device and at the precision that training uses."""
    import torch

    from roster.model.reading import choose_device, number_type

    device = choose_device(device_name)
    dtype = number_type(device, precision)
    n, size = PRODUCT.get(device.type, 2048), COPY.get(device.type, 2**28)
    a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
    source = torch.ones(size // 4, device=device)
    target = torch.empty_like(source)
    with torch.inference_mode():
        product = _fastest(lambda: a @ b, device)
        # A copy, or a change in place: some processors read what they are about to overwrite.
        moved = min(
            _fastest(lambda: target.copy_(source), device), _fastest(lambda: source.mul_(1.0), device)
        )
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return Ceilings(name, str(dtype).removeprefix("torch."), 2 * n**3 / product, 2 * size / moved)


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
