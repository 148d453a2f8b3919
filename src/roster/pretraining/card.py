"""The model card and the curve of a pre-training, which are saved beside the backbone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import roster
from roster.pages import markdown
from roster.pretraining.initialisation import shape_words
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.tokens import TokenStatistics
from roster.progress import gigabytes, peak_memory

Curve = Sequence[Mapping[str, Any]]

WIDTH, HEIGHT, LEFT, BOTTOM = 640, 300, 56, 40


def facts(
    config: Any,
    weights: int,
    settings: PretrainingSettings,
    start: str,
    text: TokenStatistics,
    curve: Curve,
    device: str,
) -> dict[str, str]:
    """Return the rows of the table in the model card.

    Parameters: the config of the model, its number of weights, the settings, how it was initialised, the
    counts of the corpus, the points of the curve, and the name of the device.
    """
    last = curve[-1]
    speeds = [point["tokens_per_second"] for point in curve if "tokens_per_second" in point]
    steady = speeds[1:] or speeds  # the first includes compilation
    memory = {name.replace("_", " "): gigabytes(size) for name, size in peak_memory().items()}
    rows = {
        "architecture": f"{config.model_type}, {shape_words(config)}",
        "vocabulary": f"{config.vocab_size:,} entries",
        "parameters": f"{weights / 1e6:.1f} million, with the masked-LM head",
        "weights": settings.weights,
        "start": start,
        "teacher": settings.teacher,
        "text": f"{text.words:,} words in {text.documents + text.valid_documents:,} documents",
        "tokens": f"{text.train:,} for training, {text.valid:,} for validation",
        "tokens seen": f"{last['tokens']:,} in {last['step']:,} steps",
        "time": f"{last['seconds']:,.0f} s on {device}",
        "speed": f"{median(steady):,.0f} tokens/s, {100 * last['peak_share']:.0f} % of the device's peak",
        "memory": ", ".join(f"{name} {size}" for name, size in memory.items()),
        "made by": f"roster {roster.__version__}",
    }
    if "valid_loss" in last:
        rows["validation"] = f"loss {last['valid_loss']:.3f}, accuracy {last['valid_accuracy']:.3f}"
    return {name: value for name, value in rows.items() if value}


def card(name: str, table: Mapping[str, str], settings: PretrainingSettings, curve: Curve) -> str:
    """Return the model card as Markdown."""
    s = settings
    return f"""# {name}

A masked language model, trained by `roster pretrain` without named-entity labels. To use it, give its folder:
`roster train DATASET -o RUN --backbone {name}`.

{markdown.facts_table(table)}

**Training.** Sequences of {s.length}, {100 * s.mask:.0f} % masked ({s.masking}), batches of {s.batch};
AdamW, peak learning rate {s.rate:g}, linear warm-up over {100 * s.warmup:.0f} % of the steps, then linear
decay; seed {s.seed}. All settings are in settings.json, every point of the curve in training.jsonl.

**Limits.** Positions beyond {s.length} were not trained. The model reflects the content and the biases of its
text. Before you publish it, add the licences of the text and of the weights it was initialised from.

![loss](curve.svg)

{curve_table(curve)}
"""


def curve_table(curve: Curve) -> str:
    """Return the points of the curve as a Markdown table.

    >>> point = {"step": 10, "tokens": 1920, "guess": 5.5, "valid_loss": 5.25, "valid_accuracy": 0.1}
    >>> print(curve_table([point]))
    | steps | tokens | masked-LM loss | validation loss | accuracy |
    |---|---|---|---|---|
    | 10 | 1,920 | 5.500 | 5.250 | .100 |
    """
    rows = []
    for point in curve:
        valid = f"{point['valid_loss']:.3f}" if "valid_loss" in point else ""
        accuracy = f"{point['valid_accuracy']:.3f}".lstrip("0") if "valid_accuracy" in point else ""
        learned = f"{point['guess']:.3f}" if "guess" in point else ""
        rows.append((f"{point['step']:,}", f"{point['tokens']:,}", learned, valid, accuracy))
    return markdown.table(("steps", "tokens", "masked-LM loss", "validation loss", "accuracy"), rows)


def drawing(curve: Curve) -> str:
    """Return the losses over the tokens seen, as an SVG image."""
    lines = {"training": ("guess", "#8a8a8a"), "validation": ("valid_loss", "#1f5fa8")}
    points = {label: [(p["tokens"], p[key]) for p in curve if key in p] for label, (key, _) in lines.items()}
    values = [y for line in points.values() for _, y in line] or [0.0]
    low, high = min(values), max(values)
    high = high if high > low else low + 1
    right = max((p["tokens"] for p in curve), default=1)

    def at(x: float, y: float) -> str:
        across = LEFT + (WIDTH - LEFT - 16) * x / right
        return f"{across:.1f},{16 + (HEIGHT - BOTTOM - 16) * (high - y) / (high - low):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for i in range(5):
        y = low + (high - low) * i / 4
        across, down = at(0, y).split(",")
        parts.append(f'<line x1="{across}" x2="{WIDTH - 16}" y1="{down}" y2="{down}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{float(down) + 4:.1f}" text-anchor="end">{y:.2f}</text>')
        x = right * i / 4
        across, _ = at(x, low).split(",")
        anchor = ("start", "middle", "middle", "middle", "end")[i]
        parts.append(
            f'<text x="{across}" y="{HEIGHT - BOTTOM + 18}" text-anchor="{anchor}">{_short(x)}</text>'
        )
    for i, (label, (_, colour)) in enumerate(lines.items()):
        if points[label]:
            path = " ".join(at(*point) for point in points[label])
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts.append(
                f'<text x="{WIDTH - 20}" y="{32 + 16 * i}" text-anchor="end" fill="{colour}">{label}</text>'
            )
    parts.append(f'<text x="{WIDTH - 16}" y="{HEIGHT - 6}" text-anchor="end">tokens seen</text>')
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 6}">masked-LM loss</text>')
    return "\n".join([*parts, "</svg>", ""])


def _short(n: float) -> str:
    """
    >>> _short(1.5e9), _short(2e6), _short(3400), _short(0)
    ('1.5 G', '2 M', '3.4 k', '0')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if n >= size:
            return f"{n / size:.3g}{unit}"
    return f"{n:.3g}"
