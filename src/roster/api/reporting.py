"""`roster.report`: the page of a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.corpus.texts import labelled
from roster.errors import DataError
from roster.log import LOGGER

if TYPE_CHECKING:
    from roster.corpus.dataset import Dataset
    from roster.infer.recogniser import Recogniser


def report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    data: str | Path | Dataset | None = None,
    gold: str | Path | Iterable[Sentence] | None = None,
    format: str | None = None,
    device: str = "auto",
) -> Path:
    """Writes one self-contained HTML page on a finished run.

    Args:
        run: the run folder.
        output: the file to write; without it `report.html` in the run folder.
        data: the data set of the run, where it was moved.
        gold: sentences with true labels, for scores, confusion and calibration; without them the test or
            validation split of the data set.
        format: the format of `gold`, where it is not recognised.
        device: `auto`, `cpu` or `cuda`, for the model of the run.

    Returns:
        The path of the page.

    Raises:
        RunError: if the folder is no finished run, or `data` is not its data set.
        DataError: for data that cannot be read.

    >>> report("run", gold="test.conll")  # doctest: +SKIP
    PosixPath('run/report.html')
    """
    from roster.reporting.page import write_report

    return write_report(run, output, data=data, gold=_gold(gold, format), device=device)


def report_after_training(run: str | Path, dataset: Dataset, model: Recogniser) -> None:
    """The page of a run that just ended; a run that was finished before keeps the one it has.

    Whatever is wrong with the page, the model is there: only a warning.
    """
    from roster.reporting.page import FILE, write_report

    if (Path(run) / FILE).exists():
        LOGGER.info(f"the report is {Path(run) / FILE}")
        return
    try:
        path = write_report(run, data=dataset, model=model)
    except Exception as error:
        LOGGER.warning(f"the model is finished, but its report could not be written: {error}")
    else:
        LOGGER.info(f"the report is {path}")


def _gold(gold: str | Path | Iterable[Sentence] | None, format: str | None) -> list[Sentence] | None:
    if gold is None:
        return None
    if isinstance(gold, str | Path):
        found = [s for s in read(gold, format) if s.words]
    else:
        found = [s for s in labelled(gold, "gold") if s.words]
    if not found or any(s.spans is None for s in found):
        place = gold if isinstance(gold, str | Path) else None
        raise DataError("the gold sentences have no labels", path=place)
    return found
