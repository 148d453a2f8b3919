"""`roster.predict`, `evaluate`, `calibrate` and `export`: what is done with a trained model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.corpus.io import format_of_name, read
from roster.corpus.sentence import Sentence
from roster.corpus.texts import labelled, sentences_of
from roster.errors import ConfigError, DataError
from roster.files import refuse_input
from roster.progress import bar
from roster.scores import Evaluation, evaluate_sentences

if TYPE_CHECKING:
    from roster.infer.calibration import Fit
    from roster.infer.parity import Parity
    from roster.infer.recogniser import Found, Recogniser
    from roster.integrations.transformers import Folded

Source = str | Path | Iterable[Sentence]


def predict(
    model: str | Path | Recogniser,
    source: str | Path | Iterable[Any],
    *,
    format: str | None = None,
    split: str | None = None,
    device: str = "auto",
) -> Iterator[dict[str, Any]]:
    """Entities in a file, a folder or texts, at constant memory.

    Args:
        model: a recogniser, a model folder or a run folder.
        source: a file or folder of any format, or texts in memory, as `label` takes them.
        format: the format of `source`, where it is not recognised.
        split: the split to read where `source` is a folder of several.
        device: `auto`, `cpu` or `cuda`, where `model` is a folder.

    Returns:
        One record for each document, in order: `id` (if it has one), `text`, and `spans` with `text`,
        `label`, `start`, `end` (characters of that text) and `score`.

    Raises:
        ModelError: for a folder that is not a model.
        DataError: for data that cannot be read, with the place.

    >>> for record in predict("run", "news.txt"):  # doctest: +SKIP
    ...     print(record["text"], record["spans"])
    """
    from roster.infer.documents import records

    return records(_find(model, source, format, split, device))


def predict_file(
    model: str | Path | Recogniser,
    source: str | Path | Iterable[Any],
    output: str | Path,
    *,
    format: str | None = None,
    to: str | None = None,
    split: str | None = None,
    device: str = "auto",
) -> None:
    """Writes what `predict` finds to a file.

    Args:
        output: the file to write. JSON lines have the records of `predict`; other formats have no scores.
        to: the format of `output`, where its name does not tell it.
        model: as for `predict`, and so are all others.

    Raises:
        RosterError: if `output` is one of the files that are read, or cannot be written.
        ModelError: for a folder that is not a model.
        DataError: for data that cannot be read, with the place.

    >>> predict_file("run", "news.txt", "news.jsonl")  # doctest: +SKIP
    """
    refuse_input(output, [path for path in (model, source) if isinstance(path, str | Path)])
    found = _find(model, source, format, split, device)
    from roster.infer.documents import write_found

    write_found(found, output, to or format_of_name(Path(output)))


def evaluate(
    predicted: Source | Recogniser, gold: Source, *, format: str | None = None, split: str | None = None
) -> Evaluation:
    """Strict entity precision, recall and F1: a span counts if its borders and its type are right.

    Args:
        predicted: a recogniser, a model folder or a run folder; or labelled sentences, in a file of any
            format or in memory.
        gold: the same sentences with true labels.
        format: the format of the files, where it is not recognised.
        split: the split to read where a path is a folder of several, such as a saved DatasetDict.

    Returns:
        Scores over all entities and by type: `precision`, `recall`, `f1`, `types`.

    Raises:
        DataError: for data that cannot be read, or sentences that do not correspond.

    >>> from roster import Sentence, Span
    >>> gold = Sentence.from_words(["Ada", "saw", "Oslo"], [Span(0, 1, "PER"), Span(2, 3, "LOC")])
    >>> found = gold.with_spans([Span(0, 1, "PER")])
    >>> scores = evaluate([found], [gold])
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    if isinstance(predicted, str | Path) and not _is_model(predicted):
        # Two label files need neither torch nor a model.
        labels = _sentences(predicted, "predictions", format, split)
        return evaluate_sentences(labels, _sentences(gold, "gold", format, split))
    from roster.infer.recogniser import Recogniser

    if isinstance(predicted, str | Path | Recogniser):
        truth = list(_sentences(gold, "gold", format, split))
        found = _with_bar(_recogniser(predicted).find(truth), len(truth))
        return evaluate_sentences((one.sentence for one in found), truth)
    return evaluate_sentences(labelled(predicted, "predictions"), _sentences(gold, "gold", format, split))


def calibrate(
    model: str | Path,
    gold: Source,
    *,
    format: str | None = None,
    split: str | None = None,
    device: str = "auto",
) -> Fit:
    """Fits the scores of a model's entities to sentences with true labels, and keeps the fit in its folder.

    From then on the score of an entity estimates how likely it is right. Entities stay the same.

    Args:
        model: a model folder, trained or exported, or a run folder.
        gold: sentences with true labels that the model was not trained on.
        format: the format of `gold`, where it is not recognised.
        split: the split to read where `gold` is a folder of several.
        device: `auto`, `cpu` or `cuda`.

    Returns:
        The calibration, and the expected calibration error and the Brier score before and after.

    Raises:
        ModelError: for a folder that is not a model.
        DataError: for data that cannot be read, or in which too few entities are found.

    >>> calibrate("run", "reviewed.jsonl").after.calibration_error  # doctest: +SKIP
    """
    from roster.infer.calibration import ScoredEntities, save_calibration
    from roster.infer.engine import load_engine
    from roster.infer.recogniser import Recogniser
    from roster.model.folder import inner_model

    folder = inner_model(model)
    ner = Recogniser(load_engine(folder, device))
    truth = list(_sentences(gold, "gold", format, split))
    if any(s.spans is None for s in truth):
        place = gold if isinstance(gold, str | Path) else None
        raise DataError("the sentences have no labels; give some with true labels", path=place)
    fit = ScoredEntities.of(truth, _with_bar(ner.find(truth), len(truth))).fit()
    save_calibration(folder, fit)
    return fit


def export(
    model: str | Path,
    folder: str | Path,
    *,
    int8: bool = False,
    gold: Source | None = None,
    format: str | None = None,
    to: str = "onnx",
    language: str | None = None,
) -> Parity | Folded:
    """Writes a trained model as ONNX, or for the transformers library, and compares the two.

    Args:
        model: a model folder or a run folder.
        folder: the folder to write, which `load`, `predict` and `evaluate` take like any other.
        int8: write weights of eight bits.
        gold: labelled sentences to score both on; without it, both are compared on the bundled sample. For
            `transformers` both are compared on it, without scores.
        format: the format of `gold`, where it is not recognised.
        to: `onnx`, or `transformers`: a token classifier for its pipelines and for the hub.
        language: the code of the language, such as `en`, for the model card of a folder for transformers.

    Returns:
        The largest difference of two logits, the share of words with the same class, the speed of both, and
        with `gold` the scores of both. For `transformers` the largest difference of two probabilities, and
        the share of words that get the same tag by the highest probability.

    Raises:
        ModelError: for a model that cannot be expressed so.
        ConfigError: options that do not belong together.
        ParityError: if the float32 export computes something else; nothing is written then.

    >>> export("run", "run-int8", int8=True, gold="test.conll").agreement  # doctest: +SKIP
    """
    truth = None if gold is None else list(_sentences(gold, "gold", format))
    if to == "transformers":
        if int8:
            raise ConfigError("weights of eight bits are only for ONNX: leave out int8, or use to='onnx'")
        from roster.integrations.transformers import export_transformers

        return export_transformers(model, folder, language=language, sentences=truth)
    if to != "onnx" or language is not None:
        wrong = (
            f"there is no export to {to!r}" if to != "onnx" else "language is only for a transformers export"
        )
        raise ConfigError(f"{wrong}; to is 'onnx' or 'transformers'")
    from roster.infer.export import export as export_model

    return export_model(model, folder, int8=int8, gold=truth)


def _find(
    model: str | Path | Recogniser,
    source: str | Path | Iterable[Any],
    format: str | None,
    split: str | None,
    device: str,
) -> Iterator[Found]:
    """What the model finds. A missing file or model is an error at once."""
    ner = _recogniser(model, device)
    sentences: Iterable[Sentence]
    if isinstance(source, str | Path):
        sentences = read(source, format, split=split)
    else:
        sentences = sentences_of(source)
    return _with_bar(ner.find(sentences))


def _with_bar(found: Iterator[Found], total: int | None = None) -> Iterator[Found]:
    with bar(description="predict", unit="sentence", total=total) as progress:
        for one in found:
            yield one
            progress.update()


def _recogniser(model: str | Path | Recogniser, device: str = "auto") -> Recogniser:
    from roster.infer.recogniser import load

    return load(model, device) if isinstance(model, str | Path) else model


def _is_model(path: str | Path) -> bool:
    from roster.model.folder import inner_model, is_readable
    from roster.model.hub import is_on_hub

    return is_on_hub(path) or is_readable(inner_model(path))


def _sentences(source: Source, what: str, format: str | None, split: str | None = None) -> Iterator[Sentence]:
    if isinstance(source, str | Path):
        return read(source, format, split=split)
    return labelled(source, what)
