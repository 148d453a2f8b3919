"""The measured speed of a device."""

from __future__ import annotations

import pytest

from roster.model import hardware


def test_a_rate_is_operations_by_the_quickest_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try, which warms up, does not count."""
    clock = iter([0.0, 9.0, 10.0, 12.0, 20.0, 21.0, 30.0, 34.0])
    monkeypatch.setattr(hardware.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(hardware, "TRIES", 3)
    monkeypatch.setitem(hardware.SIZE, "cpu", 16)
    assert hardware.matrix_product_rate("cpu", "float32") == 2 * 16**3 / 1.0


def test_a_real_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(hardware.SIZE, "cpu", 128)
    monkeypatch.setattr(hardware, "AT_LEAST", 0.0)
    assert 1e6 < hardware.matrix_product_rate("cpu", "float32") < 1e15
