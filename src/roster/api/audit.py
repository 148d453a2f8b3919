"""`roster.audit`: which labels and which entries of the dictionary are wrong or missing."""

from __future__ import annotations

from pathlib import Path

from roster.auditing.audit import Audit
from roster.auditing.evidence import read_run
from roster.corpus.dataset import Dataset


def audit(
    run: str | Path, data: str | Path | Dataset | None = None, output: str | Path | None = None
) -> Audit:
    """What the members of a finished run think of the distant labels they were trained on. No gold label is
    needed.

    Args:
        run: a run folder of the method roster.
        data: the data set of the run, where it was in memory or is not where it was.
        output: a folder for the page, the claims as JSON lines, and the patch of the dictionary.

    Raises:
        RunError: the run is not finished, kept no predictions, or was trained on other data.

    >>> found = audit("run", output="audit")  # doctest: +SKIP
    >>> for claim in found.rows():  # doctest: +SKIP
    ...     print(claim["kind"], claim["confidence"])
    """
    found = Audit(read_run(run, data))
    if output is not None:
        where = found.evidence.path
        found.save(output, {"run": str(run), "data": "in memory" if where is None else str(where)})
    return found
