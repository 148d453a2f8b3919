"""The figures of `docs/algorithm.md`, drawn from the functions that a training calls."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from manual.repository import ROOT
from roster.methods.roster.ensemble import mean_distribution
from roster.methods.roster.label_removal import label_weights
from roster.training.losses import gce, soft_labels

FOLDER = ROOT / "docs" / "images" / "algorithm"
SIZE = (7.2, 2.9)
COLOURS = ("#00695c", "#e65100", "#5e35b1", "#546e7a", "#c2185b")
STYLE = {
    "font.size": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "roster",
    "svg.fonttype": "path",
    "axes.prop_cycle": None,
}


def loss_curves() -> dict[float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """By exponent: probabilities of the given label, the loss, and the weight of a word in the gradient."""
    p = torch.linspace(0.01, 1, 199, dtype=torch.float64)
    curves = {}
    for q in (0.0, 0.3, 0.7, 1.0):
        log_p = p.log().requires_grad_()
        loss = gce(log_p, q)
        loss.sum().backward()
        assert log_p.grad is not None
        curves[q] = (p.numpy(), loss.detach().numpy(), -log_p.grad.numpy())
    return curves


def draw_loss(figure: Any) -> None:
    left, right = figure.subplots(1, 2)
    names = {0.0: "q = 0: cross entropy", 0.3: "q = 0.3", 0.7: "q = 0.7", 1.0: "q = 1: absolute error"}
    for colour, (q, (p, loss, weight)) in zip(COLOURS, loss_curves().items(), strict=False):
        left.plot(p, loss, color=colour, label=names[q])
        right.plot(p, weight, color=colour)
    left.set(xlabel="probability of the given label", ylabel="loss", ylim=(0, 3.5))
    right.set(xlabel="probability of the given label", ylabel="weight in the gradient", ylim=(0, 1.05))
    left.legend(frameon=False)


def removal(tau: float = 0.7) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """Words of a made-up sentence, their labels, the probability of each label, and whether it stays."""
    words = ["Marta", "Lindqvist", "left", "Northgate", "Bank", "in", "May", "for", "Lagos", "."]
    labels = torch.tensor([1, 1, 0, 0, 0, 0, 2, 0, 2, 0])  # 0: O, 1: PER, 2: LOC; a dictionary lists May
    e = torch.tensor([0.97, 0.95, 0.03, 0.81, 0.76, 0.01, 0.22, 0.01, 0.96, 0.01])
    person = torch.tensor([0.94, 0.96, 0.5, 0.3, 0.4, 0.5, 0.62, 0.5, 0.05, 0.5])
    r = torch.stack([person, 1 - person], 1)
    w_e, w_t = label_weights(e, r, labels, tau, keep_minority=0.9)
    entity = labels > 0
    given = torch.where(entity, r.gather(1, (labels - 1).clamp_min(0).unsqueeze(1)).squeeze(1), 1 - e)
    kept = torch.where(entity, w_t, w_e)
    return words, labels.numpy(), given.numpy(), kept.numpy().astype(bool)


def draw_removal(figure: Any, tau: float = 0.7) -> None:
    words, labels, given, kept = removal(tau)
    axes = figure.subplots()
    axes.bar(
        range(len(words)), given, color=[COLOURS[0] if stays else COLOURS[1] for stays in kept], width=0.7
    )
    axes.axhline(tau, color="#263238", linewidth=1, linestyle="--")
    axes.text(3.5, tau + 0.02, f"tau = {tau}", va="bottom", ha="center")
    names = ("O", "PER", "LOC")
    axes.set_xticks(
        range(len(words)), [f"{word}\n{names[label]}" for word, label in zip(words, labels, strict=True)]
    )
    axes.set(ylabel="probability of the given label", ylim=(0, 1.12))
    for at, stays in enumerate(kept):
        if not stays:
            axes.text(at, given[at] + 0.02, "removed", ha="center", color=COLOURS[1])


def members() -> tuple[np.ndarray, np.ndarray]:
    """Distributions of five members over O, PER, LOC and ORG for one word, and their mean."""
    found = [
        [0.10, 0.15, 0.05, 0.70],
        [0.55, 0.05, 0.10, 0.30],
        [0.05, 0.05, 0.10, 0.80],
        [0.20, 0.30, 0.10, 0.40],
        [0.08, 0.02, 0.05, 0.85],
    ]
    each = np.array(found, dtype=np.float16)[:, None]
    return each[:, 0], mean_distribution(each)[0]


def draw_ensemble(figure: Any) -> None:
    each, mean = members()
    axes = figure.subplots()
    for k, (colour, row) in enumerate(zip(COLOURS, each, strict=True)):
        axes.bar(
            np.arange(4) + 0.12 * (k - 2.5),
            row,
            width=0.11,
            color=colour,
            label=f"member {k + 1}",
            alpha=0.75,
        )
    axes.bar(np.arange(4) + 0.12 * 3, mean, width=0.2, color="#263238", label="mean")
    axes.set_xticks(range(4), ("O", "PER", "LOC", "ORG"))
    axes.set(ylabel="probability", ylim=(0, 1))
    axes.legend(frameon=False, ncols=2, loc="upper left")


def sharpened() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By corpus: predictions for the type PER from 0 to 1, and the soft labels of such words.

    In one corpus both types are equally frequent; in the other PER is four times as frequent as LOC.
    """
    p = torch.linspace(0, 1, 101, dtype=torch.float64)
    found = {}
    for name, share in (("both types equally frequent", 0.5), ("PER four times as frequent", 0.8)):
        others = torch.full((20_000,), share, dtype=torch.float64)
        r = torch.cat([p, others])
        s = soft_labels(torch.stack([r, 1 - r], -1), torch.ones(len(r), dtype=torch.bool))
        found[name] = (p.numpy(), s[: len(p), 0].numpy())
    return found


def draw_soft_labels(figure: Any) -> None:
    axes = figure.subplots()
    for colour, (name, (p, s)) in zip(COLOURS, sharpened().items(), strict=False):
        axes.plot(p, s, color=colour, label=name)
    axes.plot([0, 1], [0, 1], color="#90a4ae", linestyle=":", linewidth=1)
    axes.set(xlabel="predicted probability of PER", ylabel="soft label of PER", xlim=(0, 1), ylim=(0, 1))
    axes.legend(frameon=False)


FIGURES: dict[str, Callable[[Any], None]] = {
    "loss.svg": draw_loss,
    "removal.svg": draw_removal,
    "ensemble.svg": draw_ensemble,
    "soft-labels.svg": draw_soft_labels,
}


def svg(draw: Callable[[Any], None]) -> bytes:
    """A figure as SVG; the same bytes for the same numbers and the same version of matplotlib."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context({name: value for name, value in STYLE.items() if value is not None}):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        data = BytesIO()
        figure.savefig(data, format="svg", metadata={"Date": None})
    return data.getvalue()


def write(folder: Path = FOLDER) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        (folder / name).write_bytes(svg(draw))
    return [folder / name for name in FIGURES]
