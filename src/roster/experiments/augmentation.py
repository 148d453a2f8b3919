"""Self-training with and without augmentations: F1 by step, and examples of augmented sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from roster.config import Config
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError
from roster.experiments.data import changed, dataset_of
from roster.experiments.drawing import SPREAD, Drawing, Measured, grouped, slug, spread
from roster.experiments.figures import Figure, Line
from roster.experiments.plan import Asked, Row
from roster.experiments.point import Point
from roster.experiments.tables import Spread, Table, cell
from roster.methods.request import load_config
from roster.methods.roster.settings import Augmentation, SelfTraining

STAGE = "self-training"
ARMS: dict[str, dict[str, Any]] = {
    "none": {"augmentation.enabled": False},
    "masked language model": {"augmentation.enabled": True, "augmentation.by": "frozen"},
    "names of the same type": {"augmentation.enabled": True, "augmentation.by": "names"},
}
POINTS = 15
EXAMPLES, LONGEST = 8, 25


def rows(asked: Asked, points: int = POINTS) -> list[Row]:
    for data in asked.data:
        if not asked.point(data, 0).config().section(SelfTraining).enabled:
            raise ConfigError("this experiment needs self-training; leave self_training.enabled as it is")
    return [
        Row(arm, asked.point(data, seed, overrides=overrides, curves={STAGE: points}), stage=STAGE)
        for data in asked.data
        for arm, overrides in ARMS.items()
        for seed in asked.seeds
    ]


def draw(items: Sequence[Measured], *, examples: bool = True) -> Drawing:
    """Return tables and figures; with `examples` also augmented sentences, computed from data and encoder."""
    tables, figures, texts = [], [], {}
    for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone)):
        name, title = slug("augmentation", data, backbone), f"Augmentation on {data} with {backbone}"
        lines, shown = [], []
        for arm in ARMS:
            mine = [m for m in group if m.arm == arm]
            curve = mean_curve(mine, arm)
            if curve is not None:
                shown.append(curve)
            lines.append([arm, cell(curve.y[0]) if curve else "-", cell(spread(mine))])
        head = ["augmentation", "F1 before self-training", "F1 after it"]
        notes = [SPREAD, *idle(group)]
        tables.append(Table(name, title, head, lines, notes))
        if shown:
            figures.append(Figure(name, title, "steps of self-training", "F1", shown))
        if examples:
            table = example_table(Point.from_dict(group[0].record["asked"]), name, data)
            texts[f"{table.name}.md"], texts[f"{table.name}.tex"] = table.markdown(), table.latex()
    return Drawing(tables, figures, texts)


def idle(items: Sequence[Measured]) -> list[str]:
    """A note on runs without soft labels: without them, augmentations have no effect."""
    without = [m for m in items if m.record["stages"][STAGE].get("type_targets") == 0]
    if not without:
        return []
    return [
        f"In {len(without)} of {len(items)} runs no word reached self_training.threshold, so augmentations "
        "taught nothing there, and these runs compare nothing."
    ]


def mean_curve(items: Sequence[Measured], label: str) -> Line | None:
    """F1 by step over the seeds, at the steps that all of them have."""
    curves = [dict(m.curve) for m in items if m.curve]
    if not curves:
        return None
    steps = sorted(set.intersection(*map(set, curves)))
    spreads = [Spread.of(curve[step] for curve in curves) for step in steps]
    return Line(label, steps, [s for s in spreads if s])


def example_table(point: Point, name: str, data: str) -> Table:
    """Return a table of sentences with their augmentations, replaced words in bold."""
    dataset = changed(dataset_of(point.data), point.change)
    chosen = choose(dataset.train)
    kept = {key: value for key, value in point.overrides if not key.startswith("augmentation.")}
    lines = []
    for arm, overrides in ARMS.items():
        if overrides["augmentation.enabled"]:
            fixed = {"method": "roster", "backbone.name": point.backbone, "optimiser.device": "cpu"}
            values: dict[str, Any] = {**kept, **overrides, **fixed}
            # Augmentation uses no setting that is derived from data.
            config = load_config(preset=point.preset, overrides=values)
            words = augmented(config, dataset.types, dataset.train, chosen, point.seed)
            lines.append((arm, words))
    rows = []
    for i, sentence in enumerate(chosen):
        rows.append(["original", " ".join(sentence.words)])
        for arm, words in lines:
            rows.append([arm, " ".join(map(marked, sentence.words, words[i]))])
    title = f"Augmented sentences of {data}"
    return Table(f"{name}-examples", title, ["", "sentence"], rows, ["Replaced words are bold."])


def marked(old: str, new: str) -> str:
    return new if old == new else f"**{new}**"


def choose(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Select short sentences with labels from all parts of the corpus."""
    good = [s for s in sentences if s.spans and 5 <= len(s) <= LONGEST] or [s for s in sentences if s.spans]
    step = max(1, len(good) // EXAMPLES)
    return good[::step][:EXAMPLES]


def augmented(
    config: Config,
    types: Sequence[str],
    corpus: Iterable[Sentence],
    chosen: Sequence[Sentence],
    seed: int,
) -> list[list[str]]:
    """Return the words of sentences after augmentation; names come from the labels of the whole corpus."""
    import numpy as np

    from roster.methods.roster.algorithm import augmenter
    from roster.methods.roster.name_augmentation import dictionary_names, labelled_names, replace_names
    from roster.training.task import Task

    own = config.section(Augmentation)
    if own.by == "names":
        names = dictionary_names(own.dictionary, types) if own.dictionary else labelled_names(corpus)
        generator = np.random.default_rng(seed)
        return [list(replace_names(sentence, names, generator)) for sentence in chosen]
    task = Task.build(config, types, chosen, {})
    augmentation = augmenter(task, seed)(None, 0)  # type: ignore[arg-type]  # a frozen model looks at no other
    changed_at = (augmentation.ids != task.corpus.ids).cpu().numpy()
    ids, layout, tokenizer = augmentation.ids.cpu().numpy(), augmentation.encoded, task.encoder.tokenizer
    words = [word for sentence in chosen for word in sentence.words]
    for window in range(layout.n_windows):
        part = slice(layout.word_starts[window], layout.word_starts[window + 1])
        numbers, starts = layout.words[part], layout.positions[part]
        end = layout.lengths[window] - len(task.encoder.specials.suffix)
        for number, a, b in zip(numbers, starts, [*starts[1:], end], strict=True):
            if changed_at[window, a:b].any():
                words[number] = tokenizer.decode(ids[window, a:b]).strip()
    return [words[a:b] for a, b in pairwise(accumulate(map(len, chosen), initial=0))]
