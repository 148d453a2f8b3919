"""The time of a command over shards, from a few measured numbers.

T = begin + bytes / (workers x rate) + shards x overhead / workers + tail

`begin` is the time until workers are ready, `rate` the bytes a worker reads, computes and writes in a second,
`overhead` the time of a shard that does not depend on its size, and the tail what is left when the first
worker has nothing more to do: on average half a shard, where workers are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class Costs:
    """What is measured on one worker."""

    begin: float
    rate: float
    overhead: float


def seconds(costs: Costs, size: int, shards: int, workers: int) -> float:
    """The predicted time of `size` bytes in so many shards.

    Shards of one size are worked on in rounds: the last round takes as long as any, however few are left.

    >>> seconds(Costs(begin=2, rate=100, overhead=0.5), size=1000, shards=10, workers=1)
    17.0
    >>> seconds(Costs(begin=2, rate=100, overhead=0.5), size=1000, shards=10, workers=4)
    6.5
    """
    rounds = ceil(shards / workers)
    return costs.begin + rounds * (size / shards / costs.rate + costs.overhead)


def fitted(few: tuple[int, int, float], many: tuple[int, int, float], rate: float) -> Costs:
    """Costs from two runs on one worker, each (bytes, shards, seconds), given the rate inside a shard.

    >>> fitted((1000, 2, 13.0), (1000, 10, 17.0), rate=100)
    Costs(begin=2.0, rate=100, overhead=0.5)
    """
    (_, fewer, short), (size, more, long) = few, many
    overhead = max(0.0, (long - short) / (more - fewer))
    return Costs(max(0.0, short - size / rate - fewer * overhead), rate, overhead)
