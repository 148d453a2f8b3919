"""Estimates by type after some sentences were checked, beside an independent computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.auditing.quality import NORMAL, Estimate, TypeQuality
from roster.auditing.reviewed import posterior, updated
from roster.corpus.sentence import Sentence, Span
from roster.errors import DataError


def sentence(text: str, *spans: tuple[int, int, str], weight: float = 1.0) -> Sentence:
    made = Sentence.from_words(text.split(), [Span(*one) for one in spans])
    return Sentence(made.words, made.offsets, made.text, made.spans, weight=weight)


LABELLED = [
    sentence("Ada met Bo", (0, 1, "PER"), (2, 3, "PER")),
    sentence("May rains", (0, 1, "PER")),
    sentence("to Oslo", (1, 2, "LOC")),
]
CHECKED = [
    sentence("Ada met Bo", (0, 1, "PER"), (2, 3, "PER"), weight=3.0),
    sentence("May rains", weight=1.0),
    sentence("to Oslo", (1, 2, "ORG"), weight=1.0),
]
PRIOR = [
    TypeQuality("PER", 3, 3, Estimate(0.9, 0.125, 3), Estimate(0.6, 0.1, 3)),
    TypeQuality("LOC", 1, 1, Estimate(0.8, 0.125, 1), None),
]


def by_sampling(prior: Estimate, right: float, of: float) -> tuple[float, float]:
    """Mean and deviation of the posterior, by weights of the binomial likelihood on a grid."""
    grid = np.linspace(0.0005, 0.9995, 4000)
    strength = prior.value * (1 - prior.value) / (NORMAL * prior.error) ** 2 - 1
    a, b = prior.value * strength + right, (1 - prior.value) * strength + of - right
    weight = np.exp((a - 1) * np.log(grid) + (b - 1) * np.log(1 - grid))
    weight /= weight.sum()
    mean = float((grid * weight).sum())
    return mean, float(np.sqrt(((grid - mean) ** 2 * weight).sum()))


@pytest.mark.parametrize(("right", "of"), [(3.0, 10.0), (40.5, 61.0), (25.0, 25.0)])
def test_the_posterior_is_that_of_a_beta_prior_and_binomial_observations(right: float, of: float) -> None:
    prior = Estimate(0.7, 0.1)
    mean, deviation = by_sampling(prior, right, of)
    found = posterior(prior, right, of)
    assert found is not None
    assert found.value == pytest.approx(mean, abs=2e-3)
    assert found.error * NORMAL == pytest.approx(deviation, abs=2e-3)


def test_weights_count_as_an_effective_number_of_sentences() -> None:
    per, loc = updated(PRIOR, LABELLED, CHECKED)
    scale = (3 + 1 + 1) / (9 + 1 + 1)
    assert per.precision == posterior(PRIOR[0].precision, 6 * scale, 7 * scale)
    assert per.recall == posterior(PRIOR[0].recall, 6 * scale, 6 * scale)
    assert loc.precision == posterior(PRIOR[1].precision, 0.0, scale)
    assert loc.recall is None
    assert (per.labels, per.predicted) == (3, 3)


def test_the_order_of_the_checked_sentences_does_not_matter() -> None:
    one, other = updated(PRIOR, LABELLED, CHECKED), updated(PRIOR, LABELLED, CHECKED[::-1])
    assert one[0].precision is not None
    assert other[0].precision is not None
    assert one[0].precision.value == pytest.approx(other[0].precision.value)


def test_a_type_that_no_checked_sentence_has_keeps_its_estimate() -> None:
    assert updated(PRIOR, LABELLED, CHECKED[1:2])[1] == PRIOR[1]


def test_sentences_of_another_text_are_an_error() -> None:
    with pytest.raises(DataError, match="none of the reviewed sentences"):
        updated(PRIOR, LABELLED, [sentence("another text")])


@given(st.floats(0.0, 1.0), st.floats(0.01, 0.2), st.floats(0.1, 500.0), st.floats(0.0, 1.0))
def test_bounds_contain_the_estimate_and_narrow_with_the_number(
    value: float, error: float, of: float, share: float
) -> None:
    prior = Estimate(value, error)
    few, many = posterior(prior, share * of, of), posterior(prior, share * of * 50, of * 50)
    assert few is not None
    assert many is not None
    assert 0 <= few.bounds[0] <= few.value <= few.bounds[1] <= 1
    assert abs(many.value - share) <= abs(few.value - share) + 1e-9
