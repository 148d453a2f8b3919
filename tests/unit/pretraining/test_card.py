"""The model card says what was done, and its drawing is one."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig

import roster
from roster.pretraining.card import BOTTOM, HEIGHT, LEFT, WIDTH, card, drawing, facts
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.tokens import TokenStatistics

TEXT = TokenStatistics("<u2", 12_345, 678, 90, 4, 55_555, 9_876, 3)
SVG = "{http://www.w3.org/2000/svg}"


def point(step: int, guess: float, valid: float | None = None, **more: float) -> dict[str, Any]:
    found = {"step": step, "tokens": 1920 * step, "seconds": 2.5 * step, "guess": guess, "peak_share": 0.31,
             "tokens_per_second": 1000.0 * step, **more}  # fmt: skip
    return found if valid is None else {**found, "valid_loss": valid, "valid_accuracy": 0.456}


CURVE = [point(10, 5.5, 5.25), point(2000, 4.321, 4.75)]


def test_the_table() -> None:
    config = BertConfig(vocab_size=30_000, hidden_size=64, num_hidden_layers=3, num_attention_heads=2,
                        intermediate_size=256)  # fmt: skip
    settings = PretrainingSettings(teacher="some-teacher", weights="float32")
    found = facts(config, 7_654_321, settings, "from nothing", TEXT, CURVE, "cpu")
    assert found["architecture"] == "bert, 3 layers x 64, 2 heads, feed-forward 256"
    assert found["vocabulary"] == "30,000 entries"
    assert found["parameters"].startswith("7.7 million")
    assert found["text"] == "9,876 words in 94 documents"
    assert found["tokens"] == "12,345 for training, 678 for validation"
    assert found["tokens seen"] == "3,840,000 in 2,000 steps"
    assert found["time"] == "5,000 s on cpu"
    assert (
        found["speed"] == "2,000,000 tokens/s, 31 % of the device's peak"
    )  # without the first, which warms up
    assert found["validation"] == "loss 4.750, accuracy 0.456"
    assert found["teacher"] == "some-teacher"
    assert found["made by"].endswith(roster.__version__)
    alone = facts(config, 1, PretrainingSettings(), "from nothing", TEXT, [point(3, 5.0)], "cpu")
    assert "teacher" not in alone
    assert "validation" not in alone
    text = card("my-model", found, settings, CURVE)
    assert text.startswith("# my-model\n")
    assert all(f"| {name} | {value} |" in text for name, value in found.items())
    assert "| 2,000 | 3,840,000 | 4.321 | 4.750 | .456 |" in text
    assert "Sequences of 192, 20 % masked (mixed), batches of 256" in text
    assert "](curve.svg)" in text


def test_a_curve_without_documents_kept_apart() -> None:
    assert "| 3 | 5,760 | 5.000 |  |  |" in card("x", {}, PretrainingSettings(), [point(3, 5.0)])
    lines = ElementTree.fromstring(drawing([point(3, 5.0), point(4, 4.0)])).findall(f"{SVG}polyline")
    assert len(lines) == 1


def places(svg: str) -> list[list[tuple[float, float]]]:
    return [
        [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]  # type: ignore[misc]
        for line in ElementTree.fromstring(svg).findall(f"{SVG}polyline")
    ]


@given(
    st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 20), st.floats(0, 20)), min_size=1, max_size=30)
)
def test_points_lie_inside_the_frame(values: list[tuple[int, float, float]]) -> None:
    curve = [point(step, guess, valid) for step, guess, valid in sorted(values)]
    lines = places(drawing(curve))
    assert [len(line) for line in lines] == [len(values)] * 2
    for line in lines:
        assert [x for x, _ in line] == sorted(x for x, _ in line)
        for x, y in line:
            assert LEFT <= x <= WIDTH - 16
            assert 16 <= y <= HEIGHT - BOTTOM


def test_the_scale() -> None:
    guess, valid = places(drawing([point(1, 8.0, 6.0), point(2, 4.0, 5.0)]))
    low, high = HEIGHT - BOTTOM, 16
    middle, right = (LEFT + WIDTH - 16) / 2, WIDTH - 16
    assert guess == [(pytest.approx(middle, abs=0.1), high), (right, low)]
    assert [y for _, y in valid] == pytest.approx([(low + high) / 2, high + (low - high) * 0.75], abs=0.1)
