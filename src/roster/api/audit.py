"""`roster.audit`: which labels and which entries of the dictionary are wrong or missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roster.auditing.audit import Audit
from roster.auditing.evidence import read_run
from roster.corpus.dataset import Dataset
from roster.corpus.io import read
from roster.corpus.sentence import Sentence


def audit(
    run: str | Path,
    data: str | Path | Dataset | None = None,
    output: str | Path | None = None,
    *,
    reviewed: str | Path | Sequence[Sentence] = (),
) -> Audit:
    """What the members of a finished run think of the distant labels they were trained on. No gold label is
    needed.

    Args:
        run: a run folder of the method roster.
        data: the data set of the run, where it was in memory or is not where it was.
        output: a folder for the page, the claims as JSON lines, and the patch of the dictionary.
        reviewed: sentences of the training text with true labels, as `roster review` writes them; they make
            the estimates of precision and recall by type narrower.

    Raises:
        RunError: the run is not finished, kept no predictions, or was trained on other data.
        DataError: none of the reviewed sentences is a training sentence.

    >>> found = audit("run", output="audit")  # doctest: +SKIP
    >>> for claim in found.rows():  # doctest: +SKIP
    ...     print(claim["kind"], claim["confidence"])
    """
    checked = list(read(reviewed)) if isinstance(reviewed, str | Path) else reviewed
    found = Audit(read_run(run, data), [one for one in checked if one.words])
    if output is not None:
        where = found.evidence.path
        facts = {"run": str(run), "data": "in memory" if where is None else str(where)}
        if found.reviewed:
            facts["reviewed"] = f"{len(found.reviewed):,} sentences"
        found.save(output, facts)
    return found
