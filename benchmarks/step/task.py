"""The measurement of training steps, in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

from roster.corpus.sentence import Sentence, Span

LENGTHS = (6, 45)
"""Sentences have a number of words between these, as those of a newspaper."""
WORDS = ("the", "company", "said", "on", "Tuesday", "that", "Anna", "Lisbon", "would", "buy", "shares", "of")


def steps(
    engine: str, models: int, backbone: str, device: str, sentences: int, warm: int, timed: int
) -> Iterator[dict[str, Any]]:
    """Fine-tune for `warm` + `timed` steps.

    Parameters:
        engine: `plain`, `compiled` (plain, the encoder compiled by torch.compile) or `fast`.
        models: how many are trained together.
        backbone: name or folder of the encoder.
        device: `auto`, or a device of PyTorch.
        sentences: number of synthetic sentences.
        warm: steps before the clock starts.
        timed: steps that are timed.
    """
    import torch

    from roster.accelerate.engine import choose_engine
    from roster.methods.fine_tune import CrossEntropyObjective
    from roster.methods.request import load_config
    from roster.model.decoding import bio_classes
    from roster.model.heads import OneHead
    from roster.training.objective import Schedule
    from roster.training.task import Task

    values = {"backbone.name": backbone, "optimiser.device": device, "method": "fine-tune",
              "optimiser.engine": "fast" if engine == "fast" else "plain"}  # fmt: skip
    config = load_config(overrides=values)
    task = Task.build(
        config,
        ("PER", "LOC"),
        synthetic(sentences),
        {},
        choose_engine=lambda device, encoder: choose_engine(
            config, device, encoder, OneHead, (models, models), print
        ),
    )
    objective = CrossEntropyObjective(task.corpus, bio_classes(task.sentences, task.types))
    made = [task.new_model(OneHead, seed) for seed in range(models)]
    if engine == "compiled":
        made[0].encoder.compile(dynamic=True)
    clock: list[float] = []

    def note(_: Any, step: int) -> None:
        if step in (0, warm, warm + timed):
            if task.device.type == "cuda":
                torch.cuda.synchronize(task.device)
            clock.append(time.perf_counter())
        if step == warm + timed:
            raise StopIteration

    epochs = -(-(warm + timed + 1) // task.steps_per_epoch())
    taken = task.engine.take(made)
    with suppress(StopIteration):
        task.engine.fit(taken, objective, Schedule(epochs, 5e-5), list(range(models)), description=engine,
                        before_step=note)  # fmt: skip
    start, ready, end = clock
    yield {"warm_seconds": ready - start, "step_seconds": (end - ready) / timed}


def synthetic(number: int) -> list[Sentence]:
    """Draw sentences of random words, with a label on each name."""
    draw = Random(0)
    sentences = []
    for _ in range(number):
        words = draw.choices(WORDS, k=draw.randint(*LENGTHS))
        labels = {"Anna": "PER", "Lisbon": "LOC"}
        spans = [Span(i, i + 1, labels[word]) for i, word in enumerate(words) if word in labels]
        sentences.append(Sentence.from_words(words, spans))
    return sentences
