"""What a simulated person answers with a number of answers: on sentences drawn at random, and in a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.review.annotator import answers
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError
from roster.reviewing.answers import Answer
from roster.reviewing.review import Review

Names = Sequence[Sequence[Span]]
"""The true names of each sentence."""


@dataclass(frozen=True)
class Spent:
    """The answers that were given of a `budget`, and the sentences that they finish."""

    budget: int
    answers: int
    sentences: tuple[int, ...]

    def as_dict(self) -> dict[str, int]:
        return {"budget": self.budget, "answers": self.answers, "sentences": len(self.sentences)}


def answered(number: int, predicted: Sentence, gold: Sequence[Span], types: Sequence[str]) -> list[Answer]:
    """Return the answers that finish a sentence: one for each predicted name, one for the question whether
    names are missing, and one for each of these. A person who labels sentences and one who reviews give the
    same.

    >>> sentence = Sentence.from_words(["Ada", "met", "Bo"], [Span(0, 1, "PER")])
    >>> [one.verdict for one in answered(0, sentence, [Span(0, 1, "PER"), Span(2, 3, "PER")], ["PER"])]
    ['right', 'missing', 'done']
    """
    return answers(number, predicted, gold, types, all_right=False)


def within(costs: Sequence[int], budget: int) -> int:
    """Return how many of the first sentences can be finished with so many answers.

    >>> within([3, 1, 5, 1], 5)
    2
    """
    return int(np.searchsorted(np.cumsum(costs), budget, side="right"))


def at_random(
    predicted: Sequence[Sentence], gold: Names, types: Sequence[str], budgets: Sequence[int], seed: int
) -> list[Spent]:
    """Return what is labelled of sentences drawn at random; a larger budget begins with the same ones.

    Raises:
        DataError: a budget does not suffice for the first sentence.
    """
    order = [int(n) for n in np.random.default_rng(seed).permutation(len(predicted))]
    costs = [len(answered(n, predicted[n], gold[n], types)) for n in order]
    spent = []
    for budget in budgets:
        many = within(costs, budget)
        _check(many, budget)
        spent.append(Spent(budget, sum(costs[:many]), tuple(order[:many])))
    return spent


def in_review(review: Review, gold: Names, budgets: Sequence[int]) -> Iterator[Spent]:
    """Answer the questions of a review until each budget in turn; what follows is saved before the yield.

    Args:
        review: without an answer, of sentences that have the numbers of `gold`.
        gold: the true names.
        budgets: numbers of answers, rising.

    Raises:
        DataError: a budget does not suffice for the first sentence.
    """
    total, finished = 0, list[int]()
    for budget in budgets:
        while (question := review.next()) is not None:
            number = question.number
            given = answered(number, question.sentence, gold[number], review.types)
            if total + len(given) > budget:
                break
            for answer in given:
                review.answer(answer.verdict, answer.span)
            total += len(given)
            finished.append(number)
        _check(len(finished), budget)
        review.save()
        yield Spent(budget, total, tuple(finished))


def _check(finished: int, budget: int) -> None:
    if not finished:
        raise DataError(f"{budget} answers do not finish one sentence; give more with --answers")
