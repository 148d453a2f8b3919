"""What may be asked of a pre-training."""

from __future__ import annotations

from typing import Any

import pytest

from roster.errors import ConfigError
from roster.pretraining.settings import PretrainingSettings, load_settings


def test_what_is_not_given_keeps_its_default() -> None:
    assert load_settings({}) == PretrainingSettings()
    assert load_settings({"batch": 8}) == PretrainingSettings(batch=8)
    assert load_settings(PretrainingSettings(rate=0.1, teacher="x").as_dict()) == PretrainingSettings(
        rate=0.1, teacher="x"
    )


@pytest.mark.parametrize(
    ("text", "numbers", "count"),
    [("", (), 0), ("4", (), 4), ("0,2,4", (0, 2, 4), 3), (" 1, 3 ", (1, 3), 2)],
)
def test_layers_by_count_or_by_number(text: str, numbers: tuple[int, ...], count: int) -> None:
    found = load_settings({"layers": text})
    assert (found.layer_numbers, found.layer_count) == (numbers, count)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"layers": "0"}, "'layers' must be a number"),
        ({"layers": "two"}, "not 'two'"),
        ({"layers": "0,,2"}, "'layers'"),
        ({"layers": "-1"}, "'layers'"),
        ({"steps": 5, "minutes": 1}, "give 'steps' or 'minutes', not both"),
        ({"guess": 0}, "'guess' (the masked-LM loss) must be more than 0"),
        (
            {"teacher": "x", "guess": 0, "imitate": 0, "hidden": 0},
            "one of 'guess', 'imitate', 'hidden' and 'relations' must",
        ),
        ({"batch": 10, "at_once": 4}, "'batch' (10) must be a multiple of 'at_once' (4)"),
        ({"mask": 0.95}, "mask' must be between"),
        ({"masking": "none"}, "masking' must be one of random, words, names, mixed"),
        ({"names": 0.5}, "names' must be at least 1"),
        ({"leng": 5}, "leng"),
        ({"rate": "fast"}, "rate' must be a number"),
        ({"epochs": 0}, "'steps', 'minutes' and 'epochs' must be more than 0"),
    ],
)
def test_mistakes(values: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_settings(values)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def test_a_teacher_alone_may_be_learned_from() -> None:
    assert load_settings({"teacher": "x", "guess": 0, "imitate": 0, "hidden": 0, "relations": 1}).guess == 0
    assert load_settings({"steps": 3, "epochs": 0}).steps == 3
