"""`python -m benchmarks prediction`: speed and memory of our recogniser and of others on one text.

Each run is a new process that may use all cores; the systems take turns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import (
    MISSING,
    OK,
    Limits,
    Measurement,
    conditions,
    interleaved,
    isolated,
    ratio,
    spread_of,
)
from benchmarks.prediction.report import BASES, PredictionReport
from benchmarks.prediction.spacy_model import build_spacy
from benchmarks.prediction.systems import SYSTEMS, Spacy
from benchmarks.prediction.tasks import predict, stream
from benchmarks.prediction.text import TextFile, prepare
from benchmarks.prediction.token_classifier import FITS, unfit
from roster.corpus.io import read
from roster.errors import DataError, ModelError

BESIDE = tuple(name for name in SYSTEMS if name != "ours")
"""The systems that our recogniser is compared with."""
PACKAGES = ("torch", "transformers", "tokenizers", "onnxruntime", "spacy", "numpy")
OWN_SPACY = "one with the architecture and size of the small English pipeline's, trained here for a moment"


@dataclass(frozen=True)
class PredictionCase:
    """A system with the model that it loads; `ready` is the reason if it cannot be measured, or None."""

    name: str
    system: str
    source: str
    model: str
    ready: Measurement | None = field(default=None, compare=False)


def run(
    models: Sequence[str | PathLike[str]],
    text: str | PathLike[str] | None = None,
    *,
    gold: str | PathLike[str] | None = None,
    beside: Sequence[str] = BESIDE,
    spacy: str | None = None,
    words: int | None = None,
    sizes: Sequence[float] = (),
    repeat: int = 3,
    device: str = "auto",
    limits: Limits,
    log: Callable[[str], None],
) -> PredictionReport:
    """Measure the given models and the systems `beside` them.

    Without a text, on the sentences of `gold`, and without that on synthetic ones. With `sizes`, each model
    reads that many megabytes too, once.
    """
    folders = named(models)
    with TemporaryDirectory(prefix="roster-") as place:
        log("preparing the text")
        given = prepare(text, gold, words, Path(place))
        _check_gold(gold)
        cases = _cases(folders, beside, spacy, given, Path(place), limits, log)

        def measure(case: PredictionCase, turn: int) -> Measurement:
            if case.ready is not None:
                return case.ready
            scored = str(gold) if gold is not None and turn == 0 else None
            arguments = {"system": case.system, "source": case.source, "text": str(given.file),
                         "device": device, "gold": scored}  # fmt: skip
            return isolated(predict, arguments, limits, threads=None)

        def report_run(case: PredictionCase, turn: int, outcome: Measurement) -> None:
            log(_line(case.name, f"run {turn + 1} of {repeat}", given.words, outcome))

        outcomes = interleaved([cases], repeat, measure, description="prediction", log=report_run)
        results = [summary(case, outcomes, given.words) for case in cases]
        results += _growth(folders, given, sizes, device, limits, log)
    facts = conditions("prediction", PACKAGES, repeat, limits, device=device, workload=given.facts())
    return PredictionReport(facts, tuple(results))


def named(models: Sequence[str | PathLike[str]]) -> dict[str, Path]:
    """Return model folders by name: that of the folder, `RUN/model` in a run, or the path if not unique."""
    folders = [model_folder(model) for model in dict.fromkeys(map(Path, models))]
    short = ["/".join(folder.parts[-2:]) if folder.name == "model" else folder.name for folder in folders]
    return {
        name if short.count(name) == 1 else str(folder): folder
        for name, folder in zip(short, folders, strict=True)
    }


def model_folder(path: str | PathLike[str]) -> Path:
    """Return the model folder at a path, which may be a run folder.

    Raises:
        ModelError: there is no model.
    """
    for folder in (Path(path), Path(path) / "model"):
        if (folder / "roster.json").is_file():
            return folder.resolve()
    raise ModelError(f"there is no model in {path}; give a model folder, or the run folder that holds it")


def _check_gold(gold: str | PathLike[str] | None) -> None:
    if gold is not None and not any(sentence.spans for sentence in read(gold)):
        raise DataError("no labels to score against; --gold wants a labelled file", path=gold)


def _cases(
    folders: dict[str, Path],
    beside: Sequence[str],
    spacy: str | None,
    text: TextFile,
    place: Path,
    limits: Limits,
    log: Callable[[str], None],
) -> list[PredictionCase]:
    cases = [PredictionCase(f"ours {name}", "ours", str(folder), name) for name, folder in folders.items()]
    reasons = {name: unfit(folder) for name, folder in folders.items()}
    fitting = next((name for name, why in reasons.items() if not why), None)
    made: PredictionCase | None = None
    for system in beside:
        if issubclass(SYSTEMS[system], Spacy):
            made = made or _spacy_case(spacy, text, place, limits, log)
            cases.append(replace(made, name=system, system=system))
        elif fitting is None:
            each = ", ".join(f"{name} {why}" for name, why in reasons.items())
            missing = Measurement(MISSING, {}, f"no MODEL is {FITS}, with torch weights: {each}")
            cases.append(PredictionCase(system, system, "", "", missing))
        else:
            cases.append(PredictionCase(system, system, str(folders[fitting]), fitting))
    return cases


def _spacy_case(
    name: str | None, text: TextFile, place: Path, limits: Limits, log: Callable[[str], None]
) -> PredictionCase:
    """The given pipeline, or one that is trained now."""
    if name is not None:
        return PredictionCase("spacy", "spacy", name, name)
    log("spacy: no --spacy NAME; making a recogniser of the same architecture")
    folder = str(place / "spacy")
    made = isolated(build_spacy, {"text": str(text.file), "folder": folder}, limits, threads=None)
    return PredictionCase("spacy", "spacy", folder, OWN_SPACY, None if made.status == OK else made)


def _line(name: str, which: str, words: int, outcome: Measurement) -> str:
    if outcome.status != OK:
        return f"{name}, {which}: {outcome.status}, {outcome.message}"
    seconds = outcome.facts["seconds"]
    return f"{name}, {which}: {words / max(seconds, 1e-9):,.0f} words/s"


def summary(
    case: PredictionCase, outcomes: dict[PredictionCase, list[Measurement]], words: int
) -> dict[str, Any]:
    """Return the result of one system over its runs, with ratios to the measured systems of BASES."""
    runs = outcomes[case]
    last, facts = runs[-1], runs[0].facts
    bases = {other.system: theirs for other, theirs in outcomes.items() if other.system in BASES}
    ratios = {base: ratio(runs, bases[base], "seconds") for base in BASES if base in bases}
    return {
        "measure": "speed",
        "name": case.name,
        "system": case.system,
        "model": case.model,
        "version": facts.get("version"),
        "status": last.status,
        "message": last.message,
        "seconds": spread_of(runs, "seconds"),
        "words_per_second": spread_of(runs, "seconds", lambda seconds: words / max(seconds, 1e-9)),
        "ratios": {base: values for base, values in ratios.items() if values is not None},
        "load_seconds": spread_of(runs, "load_seconds"),
        "peak_memory": spread_of(runs, "peak_memory"),
        "peak_gpu_memory": spread_of(runs, "peak_gpu_memory"),
        "entities": facts.get("entities"),
        "scores": facts.get("scores"),
    }


def _growth(
    folders: dict[str, Path],
    text: TextFile,
    sizes: Sequence[float],
    device: str,
    limits: Limits,
    log: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Measure each model once with each size, to see how time and memory grow."""
    results = []
    for name, folder in folders.items():
        for size in sorted(set(sizes)):
            arguments = {"source": str(folder), "text": str(text.file), "device": device, "size": size * 1e6}
            outcome = isolated(stream, arguments, limits, threads=None)
            words = outcome.facts.get("words", 0)
            log(_line(f"ours {name}", f"{size:g} MB", words, outcome))
            runs = [outcome]
            results.append(
                {
                    "measure": "growth",
                    "name": f"ours {name}",
                    "system": "ours",
                    "model": name,
                    "megabytes": size,
                    "words": words or None,
                    "status": outcome.status,
                    "message": outcome.message,
                    "seconds": spread_of(runs, "seconds"),
                    "words_per_second": spread_of(runs, "seconds", lambda s, n=words: n / max(s, 1e-9)),  # type: ignore[misc]
                    "peak_memory": spread_of(runs, "peak_memory"),
                    "peak_gpu_memory": spread_of(runs, "peak_gpu_memory"),
                }
            )
    return results
