"""What the tests of exports for transformers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from roster.corpus.sentence import Sentence

TYPES = ("PER", "geo-loc", "é")
Models = Callable[[str, str], tuple[Path, Path]]
SPOKEN = (
    "Anna Berg went to Paris and Bonn with Carl . Dora in Rome , then they saw house Oslo été Élan état "
    "Étoile the quick brown fox jumps over lazy dog naïve café we talk about walking and talking walked "
    "q z x j v w"
)
SHORT = [Sentence.from_words(SPOKEN.split())]
