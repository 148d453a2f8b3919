"""Calibrated scores: how likely an entity with this score is right.

The score of an entity is the mean probability of its words, and trained models are too sure of them. On
sentences with true labels a monotonic map from score to probability is fitted by maximum likelihood,

    p = sigmoid(slope * logit(score) + intercept)

(Platt scaling; a slope alone would be temperature scaling). It is kept as `calibration.json` in the model
folder, and the model card notes it. Spans do not change, and neither does the order of their scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roster.errors import DataError, ModelError
from roster.files import write_text
from roster.log import LOGGER
from roster.model.folder import CALIBRATION, CARD, replace_file
from roster.parsing import parse_json

if TYPE_CHECKING:
    from roster.corpus.sentence import Sentence
    from roster.infer.recogniser import Found

FEWEST = 50
"""Two numbers can be fitted to so many entities; cross-fitting fits them to half."""
BINS = 10
EDGE = 1e-4
"""Scores are taken at least this far from 0 and 1, whose logits are infinite."""
STEPS = 100
FLATTEST = 0.01
"""Least slope: a flat map, or a falling one, would lose the order of the scores."""


@dataclass(frozen=True)
class Calibration:
    """The map from scores to probabilities.

    >>> Calibration(1.0, 0.0)(np.array([0.25, 0.9])).round(4).tolist()
    [0.25, 0.9]
    """

    slope: float
    intercept: float

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return _sigmoid(self.slope * _logit(scores) + self.intercept)


@dataclass(frozen=True)
class Reliability:
    """How far scores are from the share of right entities: ECE and Brier score, 0 is best."""

    calibration_error: float
    brier: float

    @classmethod
    def of(cls, scores: np.ndarray, right: np.ndarray) -> Reliability:
        return cls(calibration_error(scores, right), brier_score(scores, right))


@dataclass(frozen=True)
class Fit:
    """A calibration and what it is worth.

    `after` is by cross-fitting: each half of the sentences is calibrated by what was fitted to the other.
    """

    calibration: Calibration
    entities: int
    before: Reliability
    after: Reliability

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def measures(self) -> dict[str, tuple[float, float]]:
        """Both measures before and after, by name."""
        return {
            "expected calibration error": (self.before.calibration_error, self.after.calibration_error),
            "Brier score": (self.before.brier, self.after.brier),
        }

    def table(self) -> str:
        """Both measures before and after, as aligned text."""
        rows = [f"{name:28}  {before:6.3f}  {after:6.3f}" for name, (before, after) in self.measures.items()]
        return "\n".join([f"{'':28}  before   after", *rows])


def bins(scores: np.ndarray, right: np.ndarray, n: int = BINS) -> list[tuple[float, float, int]]:
    """Mean score, share of right entities and their number, in each of `n` equal intervals that has any.

    >>> bins(np.array([0.05, 0.15, 0.17, 1.0]), np.array([0, 1, 0, 1]))
    [(0.05, 0.0, 1), (0.16, 0.5, 2), (1.0, 1.0, 1)]
    """
    which = np.minimum((scores * n).astype(int), n - 1)
    return [
        (float(scores[which == i].mean()), float(right[which == i].mean()), int((which == i).sum()))
        for i in range(n)
        if (which == i).any()
    ]


def calibration_error(scores: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error: the mean over entities of | mean score - share right | of their
    interval."""
    found = bins(scores, right)
    return sum(count * abs(score - share) for score, share, count in found) / max(1, len(scores))


def brier_score(scores: np.ndarray, right: np.ndarray) -> float:
    """The mean squared difference of the score and 1 for right, 0 for wrong."""
    return float(np.mean((scores - right) ** 2)) if len(scores) else 0.0


def fit(scores: np.ndarray, right: np.ndarray) -> Calibration:
    """The calibration of greatest likelihood, by Newton's method.

    Targets are Platt's, (n + 1) / (n + 2) for right and 1 / (n + 2) for wrong ones, so that it exists where
    all entities are right. A slope below `FLATTEST` is raised to it.
    """
    n_right = right.sum()
    high, low = (n_right + 1) / (n_right + 2), 1 / (len(right) - n_right + 2)
    y, x = np.where(right > 0, high, low), np.stack([_logit(scores), np.ones(len(scores))], 1)
    w = _newton(x, y, np.zeros(2))
    if w[0] < FLATTEST:
        w = np.array([FLATTEST, _newton(x[:, 1:], y, np.zeros(1), FLATTEST * x[:, 0])[0]])
    return Calibration(float(w[0]), float(w[1]))


def _newton(x: np.ndarray, y: np.ndarray, w: np.ndarray, offset: np.ndarray | float = 0.0) -> np.ndarray:
    """The weights of a logistic regression; steps are halved until the loss falls."""

    def loss(w: np.ndarray) -> float:
        z = x @ w + offset
        return float(np.sum(np.logaddexp(0, z) - y * z))

    for _ in range(STEPS):
        p = _sigmoid(x @ w + offset)
        gradient = x.T @ (p - y)
        step = np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + 1e-9 * np.eye(len(w)), gradient)
        while loss(w - step) > loss(w) and np.abs(step).max() > 1e-12:
            step = step / 2
        w = w - step
        if np.abs(step).max() < 1e-10:
            break
    return w


def cross_fitted(scores: np.ndarray, right: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Each half of the `groups` (even and odd numbers) calibrated by what was fitted to the other half."""
    found, half = np.empty(len(scores)), groups % 2 == 0
    for part in (half, ~half):
        found[part] = fit(scores[~part], right[~part])(scores[part])
    return found


@dataclass(frozen=True)
class ScoredEntities:
    """The entities that a model found in sentences with true labels, as flat arrays.

    `score` of each, `right` (1 or 0), and the number of its `sentence`; those of one sentence stay in one
    half of the cross-fitting.
    """

    score: np.ndarray
    right: np.ndarray
    sentence: np.ndarray

    @classmethod
    def of(cls, gold: Iterable[Sentence], found: Iterable[Found]) -> ScoredEntities:
        rows = [
            (score, span in set(true.spans or ()), number)
            for number, (true, one) in enumerate(zip(gold, found, strict=True))
            for span, score in zip(one.sentence.spans or (), one.scores, strict=True)
        ]
        score, right, number = np.array(rows, float).reshape(-1, 3).T
        return cls(score, right, number.astype(int))

    @property
    def enough(self) -> bool:
        """Whether both halves have enough to fit two numbers to."""
        second = int((self.sentence % 2).sum())
        return len(self.score) >= FEWEST and min(second, len(self.score) - second) >= FEWEST // 4

    def calibrated(self) -> np.ndarray:
        """The scores by cross-fitting."""
        return cross_fitted(self.score, self.right, self.sentence)

    def fit(self) -> Fit:
        """
        Raises:
            DataError: there are too few entities.
        """
        if not self.enough:
            raise DataError(
                f"the model finds {len(self.score)} entities in these sentences; a calibration needs "
                f"{FEWEST} or more, in several sentences: give more sentences with true labels"
            )
        before, after = (Reliability.of(scores, self.right) for scores in (self.score, self.calibrated()))
        return Fit(fit(self.score, self.right), len(self.score), before, after)


def save_calibration(folder: Path, found: Fit) -> None:
    """Keeps a calibration in a model folder, whose checksums stay right, and writes it into the model card.

    The card is written last, so that it never describes a calibration that is not there.
    """
    replace_file(folder, CALIBRATION, json.dumps(found.as_dict(), indent=2) + "\n")
    from roster.methods.card import calibrated_card

    path = folder / CARD
    if not path.is_file():
        return
    try:
        card = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        LOGGER.warning(f"{path} cannot be read ({error}); the calibration is not noted on it")
        return
    write_text(path, calibrated_card(card, found.entities, found.measures))


def load_calibration(folder: Path) -> Calibration | None:
    """The calibration of a model folder; None where it has none.

    Raises:
        ModelError: the file is damaged.
    """
    path = folder / CALIBRATION
    if not path.is_file():
        return None
    try:
        found = parse_json(path.read_text(encoding="utf-8"))["calibration"]
        made = Calibration(float(found["slope"]), float(found["intercept"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from None
    if not (np.isfinite([made.slope, made.intercept]).all() and made.slope > 0):
        raise ModelError(f"{path} is damaged: it needs a slope above 0; run roster calibrate again")
    return made


def load_fit(folder: Path) -> Fit | None:
    """The calibration of a model folder with its errors before and after; None where it has none.

    Raises:
        ModelError: the file is damaged.
    """
    made, path = load_calibration(folder), folder / CALIBRATION
    if made is None:
        return None
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        before, after = (
            Reliability(float(found[side]["calibration_error"]), float(found[side]["brier"]))
            for side in ("before", "after")
        )
        return Fit(made, int(found["entities"]), before, after)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> ModelError:
    return ModelError(f"{path} is damaged: {error}; remove it, or run roster calibrate again")


def _logit(p: np.ndarray) -> np.ndarray:
    clipped = np.clip(p, EDGE, 1 - EDGE)
    found: np.ndarray = np.log(clipped) - np.log1p(-clipped)
    return found


def _sigmoid(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.exp(-np.logaddexp(0, -x))
    return found
