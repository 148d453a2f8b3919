"""What is measured of a training run, in a process of its own, and what it is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_architecture, load_tokenizer, max_positions
from roster.bench import floor as least
from roster.config import BILSTM_CNN, from_dict
from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.sentence import Sentence
from roster.model.ceilings import measure_ceilings
from roster.progress import peak_memory


def train_once(dataset: str, run: str, config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One whole training, in this process."""
    from roster.infer.recogniser import load
    from roster.learn.train import train
    from roster.scores import evaluate_sentences

    chosen = from_dict(config)
    data = load_dataset(dataset)  # lists its files; `train` reads them
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
        found = (one.sentence for one in load(run, chosen.optimiser.device).find(gold))
        yield {"f1": round(evaluate_sentences(found, gold).f1, 5)}


def grouped_stages(stages: Mapping[str, Mapping[str, Any]], total: float) -> dict[str, float]:
    """Seconds of the stages of `results.json`, those of the K members as one, and of all that is in none.

    >>> grouped_stages({"member-0": {"seconds": 2.0}, "member-1": {"seconds": 2.5}, "mean-of-members": {},
    ...                 "ensemble": {"seconds": 1.0}, "model": {"seconds": 6.0}}, 6.5)
    {'members': 4.5, 'ensemble': 1.0, 'rest': 1.0}
    """
    found: dict[str, float] = {}
    for name, facts in stages.items():
        if name != "model" and "seconds" in facts:
            group = "members" if name.startswith("member") else name
            found[group] = found.get(group, 0.0) + facts["seconds"]
    return {**found, "rest": round(total - sum(found.values()), 3)}


def scored_split(dataset: Dataset) -> list[Sentence]:
    """Sentences with gold labels to score a model on: those of the test split, else of the valid one."""
    for split in (dataset.test, dataset.valid):
        if split and all(sentence.spans is not None for sentence in split):
            return split
    return []


def look(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the device can do, at the precision of the config."""
    optimiser = from_dict(config).optimiser
    yield {"ceilings": asdict(measure_ceilings(optimiser.device, optimiser.precision))}


def count(work: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """A look at the device, and what each data set's config has to do on it: the phases of `floor.py`, or a
    `message` why there are none. Method, encoder and device are the same of all."""
    from roster.model.reading import choose_device, number_type

    config = work[0][1]
    yield from look(config)
    chosen = from_dict(config)
    name = chosen.backbone.name
    encoder, lm = _sizes(name), _sizes(chosen.masked_lm or name)
    if isinstance(encoder, str) or isinstance(lm, str):
        kinds = " and ".join(dict.fromkeys(one for one in (encoder, lm) if isinstance(one, str)))
        why = f"not counted for {kinds}, only for encoders built as BERT is"
        yield {"counted": [{"message": why}] * len(work)}
        return
    positions = max_positions(load_architecture(name))
    weight = number_type(choose_device(chosen.optimiser.device), chosen.optimiser.precision).itemsize
    counted = []
    tokenizer = load_tokenizer(name)
    for dataset, own in work:
        chosen, data = from_dict(own), load_dataset(dataset)
        words = WordEncoder(tokenizer, chosen.backbone.max_length, positions)
        encoded = words.encode([sentence.words for sentence in data.train])
        corpus = least.Corpus(encoded.lengths, encoded.n_words, len(words.prefix) + len(words.suffix))
        phases = least.phases(chosen, encoder, corpus, len(data.types), weight, lm)
        listed = {"phases": [asdict(phase) for phase in phases]}
        counted.append(listed if phases else {"message": f"not counted for {chosen.method}"})
    yield {"counted": counted}


def _sizes(name: str) -> least.Encoder | str:
    """Of an encoder that is counted; of any other, its kind."""
    if name == BILSTM_CNN:  # no folder has it, and no hub
        return name
    architecture = load_architecture(name)
    return least.Encoder.of(architecture) or str(architecture.model_type)
