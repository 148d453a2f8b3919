"""What is known before training, of the data and of the encoder; and what follows from it for every method.

No gold label has a part in any of it. Where a number here was chosen by measuring, docs/results.md has the
figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from roster.config import Config
from roster.corpus.sentence import Sentence

BASE_RATE, BASE_WIDTH, MOST_RATE = 5e-5, 768, 4e-4
"""A base-sized encoder is fine-tuned at this rate. Narrower ones take higher rates, at most the last."""
UNTRAINED_RATE = 1e-3
"""Of an encoder without pre-training."""
FEWEST_STEPS = 300
"""Where sentences are few, a stage has no less steps than this."""
MOST_EPOCHS, MOST_EPOCHS_OF_FEW = 12, 60
"""Beyond the first a member only memorises its labels; few sentences may need more to reach
`FEWEST_STEPS`."""
SHORTEST_WINDOW, LONGEST_WINDOW, COVERED = 64, 256, 0.995
"""A window holds this share of the sentences whole, within these numbers of sub-words."""
SAMPLE = 2000
"""Sentences whose sub-words are counted."""


@dataclass(frozen=True)
class Facts:
    """What is known before training: of the data, and of the encoder."""

    sentences: int
    words: int
    labels: int
    names: int
    types: int
    phrases: int
    """Phrases of unknown type: what a dictionary lists as maybe an entity."""
    length: int
    """Sub-words of a sentence, special tokens included: as many as `COVERED` of them have at most."""
    width: int
    positions: int | None
    """The longest input of the encoder; None: any."""
    pretrained: bool
    masks: bool
    """Whether the vocabulary has a mask token."""
    lower: float = 0.0
    """Share of the labels on words without a capital: such names are written like other words."""

    def steps_per_epoch(self, batch_size: int) -> int:
        return max(1, math.ceil(self.sentences / batch_size))


def facts_of(config: Config, sentences: Sequence[Sentence]) -> Facts:
    """Counts the data, and looks at the encoder that the config names."""
    import numpy as np  # here, because a config is shown without these

    from roster.model.encoders import describe_backbone

    stride = max(1, len(sentences) // SAMPLE)
    backbone = describe_backbone(config)
    lengths = backbone.lengths([s.words for s in sentences[::stride]])
    spans = [(s.words[x.start : x.end], x.label) for s in sentences for x in s.spans or ()]
    names = [" ".join(words) for words, _ in spans]
    return Facts(
        sentences=len(sentences),
        words=sum(map(len, sentences)),
        labels=len(spans),
        names=len(set(spans)),
        types=len({label for _, label in spans}),
        phrases=sum(len(s.unknown) for s in sentences),
        length=int(np.quantile(lengths, COVERED)) if len(lengths) else SHORTEST_WINDOW,
        width=backbone.width,
        positions=backbone.positions,
        pretrained=backbone.pretrained,
        masks=backbone.masks,
        lower=sum(name == name.lower() for name in names) / max(1, len(names)),
    )


def learning_rate(facts: Facts) -> float:
    """The peak rate of fine-tuning by the width of the encoder.

    >>> from dataclasses import replace
    >>> base = Facts(9, 9, 9, 9, 1, 0, 40, 768, 512, True, True)
    >>> learning_rate(base), learning_rate(replace(base, width=384)), learning_rate(replace(base, width=128))
    (5e-05, 0.0002, 0.0004)
    """
    if not facts.pretrained:
        return UNTRAINED_RATE
    return round_rate(min(MOST_RATE, BASE_RATE * (BASE_WIDTH / facts.width) ** 2))


def epochs_for(steps: int, per_epoch: int, fewest_steps: int = FEWEST_STEPS) -> int:
    """Passes for about so many steps: some for a large corpus, and no more than help with a small one.

    >>> [epochs_for(1500, n) for n in (4, 12, 36, 440, 1873, 31250)]
    [60, 25, 12, 3, 2, 1]
    """
    least = 3 if per_epoch <= 1000 else 2 if per_epoch <= 4000 else 1
    found = min(MOST_EPOCHS, max(least, round(steps / per_epoch)))
    return max(found, min(MOST_EPOCHS_OF_FEW, math.ceil(fewest_steps / per_epoch)))


def window(facts: Facts) -> int:
    """Sub-words of a window, a multiple of 8."""
    rounded = -(-facts.length // 8) * 8
    return min(max(SHORTEST_WINDOW, min(LONGEST_WINDOW, rounded)), facts.positions or LONGEST_WINDOW)


def round_rate(rate: float) -> float:
    """Two digits, so that a config reads well.

    >>> round_rate(0.00012345)
    0.00012
    """
    return float(f"{rate:.1e}")
