"""The measurement of a training run, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.sentence import Sentence
from roster.methods.request import from_dict
from roster.progress import peak_memory


def train_once(dataset: str, run: str, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Train once, in this process."""
    from roster.infer.recogniser import load
    from roster.methods.train import train
    from roster.scores import evaluate_sentences

    chosen = from_dict(config)
    data = load_dataset(dataset)  # only lists the files; `train` reads them
    stages = train(data, run, chosen, report={})["stages"]
    total = stages["model"]["seconds"]
    peaks = [peak_memory(), *stages.values()]
    yield {
        "total_seconds": total,
        "stages": grouped_stages(stages, total),
        **{
            kind: max(peak[kind] for peak in peaks if kind in peak)
            for kind in ("peak_memory", "peak_gpu_memory")
            if any(kind in peak for peak in peaks)
        },
    }
    gold = scored_split(data)
    if gold:
        predicted = (one.sentence for one in load(run, chosen.optimiser.device).find(gold))
        yield {"f1": round(evaluate_sentences(predicted, gold).f1, 5)}


def grouped_stages(stages: Mapping[str, Mapping[str, Any]], total: float) -> dict[str, float]:
    """Return the seconds of the stages in `results.json`, the K members as one, and of the rest.

    >>> grouped_stages({"member-0": {"seconds": 2.0}, "member-1": {"seconds": 2.5}, "mean-of-members": {},
    ...                 "ensemble": {"seconds": 1.0}, "model": {"seconds": 6.0}}, 6.5)
    {'members': 4.5, 'ensemble': 1.0, 'rest': 1.0}
    """
    groups: dict[str, float] = {}
    for name, facts in stages.items():
        if name != "model" and "seconds" in facts:
            group = "members" if name.startswith("member") else name
            groups[group] = groups.get(group, 0.0) + facts["seconds"]
    return {**groups, "rest": round(total - sum(groups.values()), 3)}


def scored_split(dataset: Dataset) -> list[Sentence]:
    """Return sentences with gold labels to score a model: of the test split, otherwise of the valid split."""
    for split in (dataset.test, dataset.valid):
        if split and all(sentence.spans is not None for sentence in split):
            return split
    return []
