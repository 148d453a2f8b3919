"""Calibrated scores: the fit against an independent one, honest measures, and the same spans as before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence
from roster.errors import DataError, ModelError, RosterError
from roster.infer import calibration
from roster.infer.calibration import (
    FLATTEST,
    Calibration,
    Reliability,
    ScoredEntities,
    brier_score,
    calibration_error,
    cross_fitted,
    fit,
    load_calibration,
    load_fit,
    save_calibration,
)
from roster.infer.recogniser import load
from roster.methods.card import NOT_CALIBRATED
from roster.model.folder import CALIBRATION, CARD, CHECKSUMS, verify, write_checksums

PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


def arrays(pairs: list[tuple[float, bool]]) -> tuple[np.ndarray, np.ndarray]:
    scores, right = np.array(pairs, float).T
    return scores, right


def drawn(n: int, slope: float, intercept: float, seed: int = 0) -> ScoredEntities:
    """Entities that are right as often as a calibration of their scores says; three in a sentence."""
    generator = np.random.default_rng(seed)
    scores = generator.beta(8, 1, n).round(4)
    right = generator.random(n) < Calibration(slope, intercept)(scores)
    return ScoredEntities(scores, right.astype(float), np.arange(n) // 3)


@given(PAIRS)
def test_measures_by_their_definitions(pairs: list[tuple[float, bool]]) -> None:
    error = 0.0
    for i in range(10):
        inside = [(s, r) for s, r in pairs if min(int(s * 10), 9) == i]
        if inside:
            mean, share = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            error += len(inside) / len(pairs) * abs(mean - share)
    scores, right = arrays(pairs)
    assert calibration_error(scores, right) == pytest.approx(error)
    assert brier_score(scores, right) == pytest.approx(sum((s - r) ** 2 for s, r in pairs) / len(pairs))


def test_perfect_scores() -> None:
    assert Reliability.of(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == Reliability(0.0, 0.0)


def test_the_greatest_likelihood() -> None:
    """The same as minimising the loss by another method in another library."""
    sample = drawn(400, 0.6, -0.8)
    n_right = sample.right.sum()
    y = np.where(sample.right > 0, (n_right + 1) / (n_right + 2), 1 / (400 - n_right + 2))
    x, target = torch.logit(torch.tensor(sample.score), eps=1e-4), torch.tensor(y)
    w = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [w], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-14, line_search_fn="strong_wolfe"
    )

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(w[0] * x + w[1], target, reduction="sum")
        loss.backward()
        return loss

    optimiser.step(closure)  # type: ignore[arg-type]
    found = fit(sample.score, sample.right)
    assert (found.slope, found.intercept) == pytest.approx(w.tolist(), abs=1e-5)


@given(PAIRS)
def test_any_scores_give_a_rising_map_into_probabilities(pairs: list[tuple[float, bool]]) -> None:
    found = fit(*arrays(pairs))
    assert found.slope >= FLATTEST
    p = found(np.linspace(0, 1, 101))
    assert ((p >= 0) & (p <= 1)).all()
    assert (np.diff(p) >= 0).all()


def test_calibration_lessens_the_error_of_scores_that_are_too_sure() -> None:
    made = drawn(20_000, 0.5, -0.5).fit()
    assert made.after.calibration_error < 0.3 * made.before.calibration_error
    assert made.after.brier < made.before.brier
    assert (made.calibration.slope, made.calibration.intercept) == pytest.approx((0.5, -0.5), abs=0.1)


def test_no_half_is_judged_by_itself() -> None:
    sample = drawn(200, 0.6, -0.8)
    half = sample.sentence % 2 == 0
    before = cross_fitted(sample.score, sample.right, sample.sentence)
    after = cross_fitted(sample.score, np.where(half, 1 - sample.right, sample.right), sample.sentence)
    assert (before[half] == after[half]).all()
    assert not np.allclose(before[~half], after[~half])


def test_too_few_entities() -> None:
    with pytest.raises(DataError, match=r"finds 40 entities .* needs 50"):
        drawn(40, 1, 0).fit()
    with pytest.raises(DataError, match="several sentences"):
        ScoredEntities(np.full(80, 0.9), np.ones(80), np.zeros(80, int)).fit()


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "model")


MADE = drawn(200, 0.5, -1.0).fit()


def test_a_model_with_a_calibration(copy: Path, toy: list[Sentence]) -> None:
    raw = list(load(copy, "cpu").find(toy))
    save_calibration(copy, MADE)
    verify(copy)
    assert CALIBRATION in json.loads((copy / CHECKSUMS).read_text())
    assert load_calibration(copy) == MADE.calibration
    found = list(load(copy, "cpu").find(toy))
    assert [one.sentence for one in found] == [one.sentence for one in raw]
    scores = [np.array([s for one in side for s in one.scores]) for side in (raw, found)]
    assert len(scores[0]) > 20
    assert scores[1] == pytest.approx(MADE.calibration(scores[0]), abs=2e-3)
    assert not np.allclose(*scores)


def test_an_export_with_a_calibration(exported: Path, tmp_path: Path, toy: list[Sentence]) -> None:
    folder = shutil.copytree(exported, tmp_path / "model")
    raw = [s for one in load(folder).find(toy) for s in one.scores]
    save_calibration(folder, MADE)
    found = [s for one in load(folder).find(toy) for s in one.scores]
    assert found == pytest.approx(MADE.calibration(np.array(raw)), abs=2e-3)


def test_it_is_replaced_whole_or_not_at_all(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever writing ends, the folder can be loaded."""
    save_calibration(copy, MADE)
    from roster.model import folder as module

    for name in ("write_text", "write_json"):
        write = getattr(module, name)

        def broken(path: Path, value: object, write=write, name=name) -> None:  # type: ignore[no-untyped-def]
            if name == "write_text" or CALIBRATION in value:  # type: ignore[operator]
                raise OSError("disk full")
            write(path, value)

        with monkeypatch.context() as patch:
            patch.setattr(module, name, broken)
            with pytest.raises(OSError, match="disk full"):
                save_calibration(copy, drawn(200, 0.7, 0.3).fit())
        verify(copy)
    save_calibration(copy, MADE)
    assert load_calibration(copy) == MADE.calibration


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[]",
        '{"calibration": {"slope": -1, "intercept": 0}}',
        '{"calibration": {"slope": NaN, "intercept": 0}}',
    ],
)
def test_a_damaged_calibration(content: str, copy: Path) -> None:
    (copy / CALIBRATION).write_text(content)
    with pytest.raises(ModelError, match=r"calibration.json is damaged.*again"):
        load_calibration(copy)
    write_checksums(copy)
    with pytest.raises(ModelError, match="damaged"):
        load(copy, "cpu")


def test_a_calibration_that_was_changed(copy: Path) -> None:
    save_calibration(copy, MADE)
    (copy / CALIBRATION).write_text((copy / CALIBRATION).read_text().replace("0.", "1.", 1))
    with pytest.raises(ModelError, match="checksum differs"):
        load(copy, "cpu")


def test_a_folder_of_an_earlier_version_has_no_checksums(copy: Path) -> None:
    (copy / CHECKSUMS).unlink()
    save_calibration(copy, MADE)
    assert not (copy / CHECKSUMS).exists()
    assert load(copy, "cpu").calibration == MADE.calibration


def test_words_of_the_table() -> None:
    fitted = calibration.Fit(Calibration(1, 0), 60, Reliability(0.19, 0.183), Reliability(0.035, 0.11))
    assert [line.split()[-2:] for line in fitted.table().splitlines()] == [
        ["before", "after"],
        ["0.190", "0.035"],
        ["0.183", "0.110"],
    ]


def test_the_fit_is_read_as_it_was_written(copy: Path) -> None:
    assert load_fit(copy) is None
    save_calibration(copy, MADE)
    assert load_fit(copy) == MADE
    (copy / CALIBRATION).write_text('{"calibration": {"slope": 1, "intercept": 0}}')
    with pytest.raises(ModelError, match=r"calibration.json is damaged.*again"):
        load_fit(copy)


CARD_TEXT = f"# A\n\nmine: é\n\n## Scores of entities\n\n{NOT_CALIBRATED}\n\n## Limits\n\n- of mine\n"


def test_the_card_tells_of_the_calibration(copy: Path) -> None:
    (copy / CARD).write_text(CARD_TEXT, encoding="utf-8")
    for made in (drawn(200, 0.7, 0.3).fit(), MADE):  # a second calibration replaces the first
        save_calibration(copy, made)
        card = (copy / CARD).read_text(encoding="utf-8")
        before, after = made.before.calibration_error, made.after.calibration_error
        assert f"| expected calibration error | {before:.3f} | {after:.3f} |" in card
        assert card.count("Scores are calibrated") == card.count("| Brier score |") == 1
        assert "the 200 entities" in card
        assert "not calibrated" not in card
        assert card.startswith("# A\n\nmine: é\n\n## Scores of entities\n")
        assert card.endswith("larger.\n\n## Limits\n\n- of mine\n")
        verify(copy)


def test_the_card_is_replaced_whole_or_not_at_all(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (copy / CARD).write_text(CARD_TEXT, encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("roster.files.os.replace", full, raising=True)
        patch.setattr(calibration, "replace_file", lambda *_: None)
        with pytest.raises((OSError, RosterError), match="disk full"):
            save_calibration(copy, MADE)
    assert (copy / CARD).read_text(encoding="utf-8") == CARD_TEXT
    assert [one.name for one in copy.iterdir() if one.name.endswith(".part")] == []


@pytest.mark.parametrize("content", [None, b"\xff\xfe no text"])
def test_a_folder_whose_card_is_missing_or_no_text(content: bytes | None, copy: Path) -> None:
    (copy / CARD).unlink(missing_ok=True)
    if content is not None:
        (copy / CARD).write_bytes(content)
    save_calibration(copy, MADE)
    assert load_calibration(copy) == MADE.calibration
    assert (copy / CARD).exists() == (content is not None)
    verify(copy)
