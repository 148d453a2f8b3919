"""Whether a run has learned enough for its audit to change labels without a person."""

from __future__ import annotations

LEARNED = 0.4
"""Members that learn find .55 to .88 of the labels that they were taught, whatever the labels. Below this
share the method trains a member again (`methods/roster/algorithm.py`)."""
HELD_OUT = 0.2
"""Of labels that they were not taught, they find .53 to .84."""


def too_little(learned: float, held_out: float) -> str:
    """Why nothing can be said of the labels; empty where something can.

    Args:
        learned: the share of the labels that the members were taught which they find.
        held_out: that of the labels they were not taught; NaN where there are none.

    >>> too_little(0.1, 0.5)[:58]
    'the members find only 10 % of the labels that they were ta'
    >>> too_little(0.7, float("nan"))
    ''
    """
    if learned < LEARNED:
        what, share, least = "that they were taught", learned, LEARNED
    elif held_out < HELD_OUT:
        what, share, least = "that they were not taught", held_out, HELD_OUT
    else:
        return ""
    return (
        f"the members find only {100 * share:.0f} % of the labels {what} ({100 * least:.0f} % is the least), "
        "so the run has learned too little to judge them"
    )
