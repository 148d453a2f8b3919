"""The arms: what each needs that another one makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from roster.errors import ConfigError

BASE, AUDIT, AUDIT2 = "base", "audit", "audit2"
RANDOM, REVIEW, BOTH = "random", "review", "both"
ROUNDS, PERSON = (BASE, AUDIT, AUDIT2), (RANDOM, REVIEW, BOTH)
BUDGETS = (100, 300)
WITH_BUDGET = re.compile(rf"({'|'.join(PERSON)})-([1-9][0-9]*)")
FIRST_PATCH, SECOND_PATCH = "audit.tsv", "audit2.tsv"


@dataclass(frozen=True, order=True)
class Arm:
    """A way to better labels; `budget` is the number of answers of a person, 0 where none answers."""

    kind: str
    budget: int = 0

    def __str__(self) -> str:
        return f"{self.kind}-{self.budget}" if self.budget else self.kind

    @classmethod
    def of(cls, name: str) -> Arm:
        """Read the name of an arm.

        Raises:
            ConfigError: there is no such arm.

        >>> Arm.of("both-300"), str(Arm.of("audit2"))
        (Arm(kind='both', budget=300), 'audit2')
        """
        if name in ROUNDS:
            return cls(name)
        if found := WITH_BUDGET.fullmatch(name):
            return cls(found[1], int(found[2]))
        raise ConfigError(
            f"there is no arm {name!r}; the arms are {', '.join(ROUNDS)}, and {', '.join(PERSON)} with a "
            "number of answers, such as review-100"
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """The names of the files that other arms make for this one."""
        match self.kind:
            case "base":
                return ()
            case "audit":
                return (FIRST_PATCH,)
            case "audit2":
                return (FIRST_PATCH, SECOND_PATCH)
            case "random":
                return (gold_file(self),)
        own = Arm(REVIEW, self.budget)
        return (gold_file(own), corrections_file(own), *((FIRST_PATCH,) if self.kind == BOTH else ()))

    @property
    def rounds_after(self) -> int:
        """How many trainings one after the other can follow from this one."""
        return {BASE: 2, AUDIT: 1}.get(self.kind, 0)


def maker(file: str) -> Arm:
    """Return the arm that makes a file which others need."""
    return Arm(AUDIT if file == SECOND_PATCH else BASE)


def gold_file(arm: Arm) -> str:
    """Return the name of the file with the gold sentences of an arm."""
    return f"{arm}.gold.jsonl"


def corrections_file(arm: Arm) -> str:
    """Return the name of the file with the corrections of an arm."""
    return f"{arm}.tsv"


def every_arm(budgets: Sequence[int] = BUDGETS) -> tuple[Arm, ...]:
    """Return all arms, in the order of the report."""
    return (*map(Arm, ROUNDS), *(Arm(kind, n) for n in sorted({*budgets}) for kind in PERSON))
