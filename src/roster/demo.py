"""The whole chain on the bundled sample: dictionary -> distant labels -> training -> scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from roster.corpus.dataset import load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence
from roster.distant.labels import Labels
from roster.distant.settings import load_settings
from roster.files import write_json, write_text
from roster.infer.recogniser import load
from roster.log import LOGGER
from roster.methods.request import load_request
from roster.methods.train import train
from roster.reporting.page import write_report
from roster.scores import Evaluation, evaluate_sentences

METHODS = ("fine-tune", "roster")
# Every listed name as it is written: the raw dictionary, with the noise that training has to deal with.
PLAIN = {"case": "exact", "min_length": 1, "stop_words": []}
FIRST = {"ambiguous": "first"}
QUICK: dict[str, dict[str, Any]] = {
    "fine-tune": {"fine_tune.epochs": 12},
    "roster": {"ensemble.models": 2, "noise_robust.epochs": 10, "noise_robust.update_every": 20},
}
"""Two members instead of five and half of the epochs keep the demo within minutes."""


@dataclass(frozen=True)
class Corrected:
    """A sentence where the dictionary was wrong and the model is right."""

    gold: Sentence
    distant: Sentence
    found: Sentence


@dataclass(frozen=True)
class Demo:
    scores: dict[str, Evaluation]
    corrected: list[Corrected]
    folder: Path


def run_demo(folder: str | Path, *, seed: int = 30) -> Demo:
    """Labels the sample, trains plain fine-tuning and RoSTER on it, scores both and the dictionary itself."""
    folder = Path(folder)
    sample = resources.files("roster") / "sample"
    with resources.as_file(sample) as source:
        settings = load_settings(dictionaries=[source / "dictionary.tsv"], policy=PLAIN, conflicts=FIRST)
        news = list(Labels(lambda: read(source / "news.txt", "text"), settings))
        gold = list(read(source / "gold.jsonl", "jsonl"))
        distant = list(Labels(lambda: gold, settings))
    LOGGER.info(
        f"labelled {len(news)} sentences with the dictionary: "
        f"{sum(len(s.spans or ()) for s in news)} names found"
    )
    data = folder / "data"
    write(data / "train.jsonl", news)
    scores = {"distant-match": evaluate_sentences(distant, gold)}
    found: list[Sentence] = []
    for method in METHODS:
        overrides: dict[str, Any] = {"method": method, "seed": seed, **QUICK[method]}
        asked = load_request(overrides=overrides)
        run = folder / f"{method}-seed-{seed}"
        LOGGER.info(f"training {method}; the run is in {run}")
        dataset = load_dataset(data)
        train(dataset, run, asked, report={"gold": gold}, log=LOGGER.info)
        ner = load(run)
        write_report(run, data=dataset, gold=gold, model=ner)
        found = [one.sentence for one in ner.find(gold)]
        scores[method] = evaluate_sentences(found, gold)
    write(folder / "predictions.jsonl", found)
    write_json(folder / "results.json", {name: _rounded(s) for name, s in scores.items()})
    demo = Demo(scores, corrections(gold, distant, found), folder)
    write_text(folder / "report.md", report(demo))
    return demo


def corrections(
    gold: Sequence[Sentence], distant: Sequence[Sentence], found: Sequence[Sentence]
) -> list[Corrected]:
    """Sentences that the model has entirely right and the dictionary has wrong, most mistakes first."""

    def mistakes(c: Corrected) -> int:
        return len(set(c.distant.spans or ()) ^ set(c.gold.spans or ()))

    triples = (Corrected(*t) for t in zip(gold, distant, found, strict=True))
    right = [c for c in triples if set(c.found.spans or ()) == set(c.gold.spans or ()) and mistakes(c)]
    return sorted(right, key=mistakes, reverse=True)


def table(scores: dict[str, Evaluation]) -> str:
    lines = [f"{'':13}  precision  recall     F1"]
    lines += [f"{name:13}  {s.precision:9.3f}  {s.recall:6.3f}  {s.f1:.3f}" for name, s in scores.items()]
    return "\n".join(lines)


def marked(sentence: Sentence) -> str:
    """The sentence's own text with its spans in brackets: `[Oslo LOC]`."""
    if not sentence.words:
        return ""
    parts, at = [], sentence.offsets[0][0]
    for span in sorted(sentence.spans or ()):
        start, end = sentence.char_span(span)
        parts += [sentence.text[at:start], f"[{sentence.text[start:end]} {span.label}]"]
        at = end
    return "".join([*parts, sentence.text[at : sentence.offsets[-1][1]]])


def report(demo: Demo, examples: int = 5) -> str:
    lines = [
        "# RoSTER on the bundled sample",
        "",
        "```",
        table(demo.scores),
        "```",
        "",
        "Sentences where RoSTER corrected the dictionary:",
        "",
    ]
    for c in demo.corrected[:examples]:
        lines += [f"- dictionary: {marked(c.distant)}", f"  RoSTER: {marked(c.found)}", ""]
    return "\n".join(lines)


def _rounded(scores: Evaluation) -> dict[str, Any]:
    return {name: round(getattr(scores, name), 4) for name in ("precision", "recall", "f1")}
