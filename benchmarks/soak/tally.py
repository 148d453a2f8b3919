"""What the clients of a soak have seen."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from benchmarks.serving.clients import percentile
from benchmarks.soak.questions import Question
from benchmarks.soak.wire import Answer

REASONS = {
    "are under way": "overload",
    "no answer within": "time",
    "is stopping": "stopping",
    "connections are open": "connections",
    "head did not arrive": "head",
    "body did not arrive": "body",
}
"""Reasons of a refusal, by words of the message."""
SHOWN = 20
"""Problems that are kept as text."""


@dataclass
class Tally:
    """Counts by kind of client, times, and what went wrong."""

    compared: int = 0
    """Answers with the same entities as those of the model alone."""
    served: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    rejected: Counter[int] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def error(self, kind: str, message: str) -> None:
        self.errors[kind] += 1
        if len(self.problems) < SHOWN:
            self.problems.append(f"{kind}: {message}"[:500])

    def judge(self, kind: str, answer: Answer, expected: Question | tuple[int, ...]) -> bool:
        """Count an answer.

        Args:
            kind: what the client does.
            answer: what it got.
            expected: the request, which must be answered rightly; or the statuses that are right.

        Returns:
            Whether it was answered, rather than refused.
        """
        if reason := next((name for words, name in REASONS.items() if words in answer.error), ""):
            if answer.status not in (503, 408):
                self.error(kind, f"status {answer.status} for {answer.error}")
            elif answer.status == 503 and not answer.headers.get("retry-after", "").isdecimal():
                self.error(kind, f"503 without Retry-After: {answer.error}")
            else:
                self.refused[reason] += 1
            return False
        if isinstance(expected, Question):
            if answer.status != 200:
                self.error(kind, f"status {answer.status}: {answer.body[:200]!r}")
            elif wrong := expected.wrong(answer.json()):
                self.error(kind, wrong)
            else:
                self.compared += 1
                self.served[kind] += 1
        elif answer.status not in expected:
            self.error(kind, f"status {answer.status}, not {expected}: {answer.body[:200]!r}")
        elif answer.status < 400:
            self.served[kind] += 1
        else:
            self.rejected[answer.status] += 1
        return True

    def facts(self) -> dict[str, Any]:
        """Numbers for the report."""
        found: dict[str, Any] = {
            "served": sum(self.served.values()),
            "compared": self.compared,
            "refused": dict(sorted(self.refused.items())),
            "rejected": {str(status): n for status, n in sorted(self.rejected.items())},
            "left": sum(self.left.values()),
            "errors": sum(self.errors.values()),
            "problems": self.problems,
            "by_client": {
                kind: {"served": self.served[kind], "left": self.left[kind], "errors": self.errors[kind]}
                for kind in sorted({*self.served, *self.left, *self.errors})
            },
        }
        for kind, times in sorted(self.seconds.items()):
            found[f"{kind}_ms"] = {
                "requests": len(times),
                "p50": 1000 * percentile(times, 50),
                "p99": 1000 * percentile(times, 99),
                "max": 1000 * max(times),
            }
        return found
