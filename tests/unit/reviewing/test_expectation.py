"""What a model expects of its predictions, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from roster.corpus.sentence import Sentence, Span
from roster.reviewing.expectation import CONTROLS, expect, right_probabilities, type_probabilities

TYPES = ("LOC", "PER")


def test_classes_to_types() -> None:
    p = np.array([[0.1, 0.2, 0.3, 0.25, 0.15]])
    np.testing.assert_allclose(type_probabilities(p, "bio"), [[0.5, 0.4]])
    np.testing.assert_allclose(type_probabilities(p[:, :3], "io"), [[0.2, 0.3]])


def test_a_name_is_right_if_its_words_are_and_their_neighbours_are_not() -> None:
    p = np.array([[0.0, 0.1], [0.1, 0.8], [0.0, 0.9], [0.2, 0.3]])
    assert right_probabilities(p, [Span(1, 3, "PER")], TYPES) == pytest.approx([0.9 * 0.8 * 0.7])
    assert right_probabilities(p, [Span(0, 4, "LOC")], TYPES) == [0.0]


def test_signs() -> None:
    sentences = [
        Sentence.from_words(["Ada", "saw", "Oslo"], [Span(0, 1, "PER")]),
        Sentence.from_words(["Ada", "ran"], []),
    ]
    p = [np.array([[0.0, 0.9], [0.0, 0.0], [0.5, 0.1]]), np.array([[0.0, 0.3], [0.0, 0.0]])]
    found = expect(sentences, p, TYPES, [(Span(2, 3, "LOC"),), None])
    np.testing.assert_allclose(found.predicted, [[0, 1], [0, 0]])
    np.testing.assert_allclose(found.right, [[0, 0.9], [0, 0]])
    np.testing.assert_allclose(found.gold, [[0.5, 1.0], [0, 0.3]])
    columns = dict(zip(CONTROLS, found.controls.T, strict=False))
    np.testing.assert_allclose(columns["missed"], [0.6, 0.3])
    np.testing.assert_allclose(columns["words"], [3, 2])
    np.testing.assert_allclose(columns["suspicious"], [1, 1])
    np.testing.assert_allclose(columns["one word"], [1, 0])
    # Ada is a name once in two occurrences: here by half less a half, there not.
    np.testing.assert_allclose(columns["consistent"], [0.25, 0])
    np.testing.assert_allclose(columns["elsewhere"], [0, 0.5])
    np.testing.assert_allclose(columns["only ours"], [1, 0])
    np.testing.assert_allclose(columns["only theirs"], [1, 0])
    np.testing.assert_allclose(found.controls[:, len(CONTROLS) :], found.predicted)
    assert found.spread[0] > found.spread[1] > 0
