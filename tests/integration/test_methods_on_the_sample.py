"""Every method learns from the bundled sample with the bundled encoder: a part of it, in half a minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from roster.corpus.dataset import load_dataset
from roster.corpus.io import read, write
from roster.corpus.sentence import Sentence, Span
from roster.distant.labels import Labels
from roster.distant.settings import load_settings
from roster.infer.recogniser import load
from roster.methods.registry import names
from roster.methods.request import load_request
from roster.methods.train import train
from roster.scores import evaluate_sentences

SAMPLE = Path(str(resources.files("roster") / "sample"))
SENTENCES, GOLD = 48, 80
# Twelve steps make an epoch. A fresh head needs a high rate to learn anything in a hundred. The comments
# give F1 with the seeds 0, 1 and 2.
FAST: dict[str, dict[str, Any]] = {
    # .45, .50, .47
    "fine-tune": {
        "fine_tune.epochs": 6, "fine_tune.learning_rate": 1e-4, "fine_tune.head_learning_rate": 1e-2,
    },
    # .49, .42, .40
    "bond": {
        "bond.epochs": 7, "bond.learning_rate": 1e-4, "bond.head_learning_rate": 1e-2,
        "optimiser.warmup": 0.05, "bond.begin_step": 60, "bond.period": 12,
    },
    # .61, .65, .58
    "autoner": {
        "autoner.epochs": 6, "autoner.learning_rate": 2e-4, "autoner.head_learning_rate": 5e-3,
        "autoner.phrases": False,
    },
    # .38, .44, .43
    "bilstm-crf": {"bilstm_crf.epochs": 30, "bilstm_crf.learning_rate": 0.05},
    # .68, .62, .51. Plain cross entropy in the first half, or 60 steps are too few; a member that learned too
    # little fails the test instead of being trained again.
    "roster": {
        "noise_robust.epochs": 5, "noise_robust.head_learning_rate": 2e-3, "noise_robust.plain": 0.5,
        "noise_robust.repair": False, "ensemble.models": 2, "ensemble.epochs": 1, "self_training.epochs": 1,
    },
}  # fmt: skip


def test_all_of_them_are_here() -> None:
    assert set(FAST) == set(names())


@pytest.mark.parametrize("method", names())
def test_it_learns(method: str, tmp_path: Path) -> None:
    settings = load_settings(dictionaries=[SAMPLE / "dictionary.tsv"])
    news = [s for s in Labels(lambda: read(SAMPLE / "news.txt", "text"), settings) if s.spans]
    write(tmp_path / "data" / "train.jsonl", news[:SENTENCES])
    gold = list(read(SAMPLE / "gold.jsonl"))[:GOLD]
    short = {"optimiser.batch_size": 4, "optimiser.precision": "float32", **FAST[method]}
    asked = load_request(overrides={"method": method, **short})
    train(load_dataset(tmp_path / "data"), tmp_path / "run", asked, report={})
    found = [one.sentence for one in load(tmp_path / "run").find(gold)]

    f1 = evaluate_sentences(found, gold).f1
    assert f1 > 0.3  # who takes every word for O, the most frequent class of all, has 0
    assert f1 > 1.2 * evaluate_sentences(all_of_one_type(found, gold), gold).f1
    assert f1 > 5 * evaluate_sentences(moved(found), gold).f1


def all_of_one_type(found: Sequence[Sentence], gold: Sequence[Sentence]) -> list[Sentence]:
    """The same names, all of the type that most names have."""
    types = Counter(span.label for sentence in gold for span in sentence.spans or ())
    ((most, _),) = types.most_common(1)
    return [s.with_spans([Span(x.start, x.end, most) for x in s.spans or ()]) for s in found]


def moved(found: Sequence[Sentence]) -> list[Sentence]:
    """Chance: as many names, as long and of the same types, where the sentence before has them."""
    before = [found[-1], *found[:-1]]
    return [
        s.with_spans([x for x in other.spans or () if x.end <= len(s)])
        for s, other in zip(found, before, strict=True)
    ]
