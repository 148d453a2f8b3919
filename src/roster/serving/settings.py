"""Limits of the service; every one of them bounds what a single client can take from the others."""

from __future__ import annotations

from dataclasses import dataclass, fields

from roster.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may take, and how many may be under way.

    Args:
        body: bytes of a request body.
        characters: characters of all texts of a request.
        texts: texts of a request.
        sentence_words: words of one sentence, which is computed as a whole.
        seconds: time from the arrival of a request to its answer.
        requests: requests under way at once: being received, waiting or being computed.
        batch_words: words that are computed together; a longer request is computed in parts.
        connections: connections that are open at once.
        head_seconds: time in which the head of a request has to arrive.
        gather_seconds: longest wait for further requests while others are in use of the model.

    Raises:
        ConfigError: a limit is not more than 0.

    >>> Limits(texts=0)
    Traceback (most recent call last):
    roster.errors.ConfigError: the limit 'texts' must be more than 0, not 0
    """

    body: int = 2 * 2**20
    characters: int = 100_000
    texts: int = 256
    sentence_words: int = 4096
    seconds: float = 30.0
    requests: int = 128
    connections: int = 512
    head_seconds: float = 10.0
    batch_words: int = 2048
    gather_seconds: float = 0.002

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < float("inf"):  # also refuses NaN
                raise ConfigError(f"the limit '{field.name}' must be more than 0, not {value:g}")
