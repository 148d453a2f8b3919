"""Folds over names: who learns without which name, and what of a name is held out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from roster.corpus.sentence import Sentence, Span
from roster.methods.request import load_config
from roster.methods.roster.algorithm import member_folds
from roster.methods.roster.folds import FEWEST_NAMES, FOLDS, NONE, Folds, make_folds
from roster.methods.roster.masking import input_mask
from roster.methods.roster.noise_robust import NoiseRobustObjective
from roster.methods.roster.settings import NoiseRobust
from roster.training.objective import losses_of
from roster.training.task import Task

TYPES = ("PER", "LOC")


def names_of(label: str, number: int) -> list[tuple[str, ...]]:
    """Names of one word and of two."""
    return [(f"{label}{i}",) if i % 2 else (f"{label}{i}", "Berg") for i in range(number)]


def sentence(*parts: Sequence[str] | tuple[Sequence[str], str]) -> Sentence:
    """Words, or words with their label."""
    words: list[str] = []
    spans = []
    for part in parts:
        labelled = isinstance(part, tuple) and len(part) == 2 and part[1] in TYPES
        new = list(part[0] if labelled else part)
        if labelled:
            spans.append(Span(len(words), len(words) + len(new), str(part[1])))
        words += new
    return Sentence.from_words(words, spans)


def corpus_of(people: int = 40, places: int = 30) -> list[Sentence]:
    """Every name with its label, then every name without one."""
    named = [(name, "PER") for name in names_of("P", people)]
    named += [(name, "LOC") for name in names_of("L", places)]
    labelled = [sentence(["the"], one, ["ran"]) for one in named]
    return labelled + [sentence(["so", "did"], name, ["."]) for name, _ in named]


def surfaces(sentences: Sequence[Sentence], folds: Folds) -> list[tuple[str, ...]]:
    words = [word for s in sentences for word in s.words]
    m = folds.mentions
    return [tuple(words[a:b]) for a, b in zip(m.start, m.end, strict=True)]


@pytest.mark.parametrize("members", [1, 2, 5, 7])
def test_every_name_is_held_out_of_one_fold(members: int) -> None:
    sentences = corpus_of()
    folds = make_folds(sentences, TYPES, members, seed=3)
    assert folds.count == max(FOLDS, members)
    assert len(folds.mentions) == 70
    masks = np.stack([folds.held_out_mentions(member) for member in range(folds.count)])
    assert (masks.sum(0) == 1).all()
    for label in (1, 2):  # evenly, within each type
        counts = masks[:, folds.mentions.label == label].sum(1)
        assert counts.max() - counts.min() <= 1
    # Of one name all mentions are in one fold, and the words of a mention are held out where it is.
    for start, end, fold in zip(
        folds.mentions.start, folds.mentions.end, folds.of_name[folds.mentions.name], strict=True
    ):
        assert (folds.of_word[start:end] == fold).all()


def test_unlabelled_occurrences_belong_to_the_fold_of_the_name() -> None:
    sentences = corpus_of()
    folds = make_folds(sentences, TYPES, 5, seed=3)
    fold_of = dict(zip(surfaces(sentences, folds), folds.of_name[folds.mentions.name], strict=True))
    at = sum(map(len, sentences[:70]))
    for s in sentences[70:]:
        name = s.words[2:-1]
        assert folds.of_word[at : at + len(s)].tolist() == [NONE, NONE, *[fold_of[name]] * len(name), NONE]
        at += len(s)


def test_the_longest_name_at_a_place_holds_its_words() -> None:
    """`Bank of Oslo` is not cut into pieces by `Oslo`, which has another fold; a label decides before
    both."""
    long = [(f"Bank{i}", "of", f"L{i}") for i in range(40)]
    sentences = [sentence((name, "PER")) for name in long]
    sentences += [sentence(((f"L{i}",), "LOC")) for i in range(40)]
    sentences += [sentence(["near"], name) for name in long]
    sentences += [sentence(name[:2], (name[2:], "LOC")) for name in long]
    folds = make_folds(sentences, TYPES, 5, seed=1)
    whole, inner = folds.of_name[:40], folds.of_name[40:]
    assert (whole != inner).sum() > 10
    at = sum(map(len, sentences[:80]))
    plain = folds.of_word[at : at + 160].reshape(40, 4)
    assert np.array_equal(plain, np.stack([np.full(40, NONE), whole, whole, whole], 1))
    labelled = folds.of_word[at + 160 :].reshape(40, 3)
    assert np.array_equal(labelled, np.stack([whole, whole, inner], 1))


def test_gold_sentences_are_never_held_out() -> None:
    sentences = corpus_of()
    gold = [i % 3 == 0 for i in range(len(sentences))]
    folds = make_folds(sentences, TYPES, 5, 3, gold)
    sure = np.repeat(gold, [len(s) for s in sentences])
    assert (folds.of_word[sure] == NONE).all()
    assert (folds.of_word[~sure] != NONE).any()
    starts = np.cumsum([0, *map(len, sentences)])
    of_gold = [int(starts[i]) for i in range(len(sentences)) if gold[i]]
    assert not {*folds.mentions.start.tolist()} & {start + 1 for start in of_gold}


@pytest.mark.parametrize(("places", "folded"), [(FEWEST_NAMES - 1, False), (FEWEST_NAMES, True)])
def test_a_type_with_few_names_is_not_folded(places: int, folded: bool) -> None:
    folds = make_folds(corpus_of(40, places), TYPES, 5, seed=3)
    mine = folds.of_name[folds.mentions.name]
    assert (mine[folds.mentions.label == 1] != NONE).all()
    assert (mine[folds.mentions.label == 2] != NONE).all() == folded
    assert (mine[folds.mentions.label == 2] != NONE).any() == folded


def test_a_type_counts_by_names_not_by_mentions() -> None:
    often = [sentence((("Oslo",), "LOC")), sentence((("Lima",), "LOC"))] * 50
    assert (make_folds(often, TYPES, 5, seed=3).of_word == NONE).all()


def test_no_members_no_folds() -> None:
    folds = make_folds(corpus_of(), TYPES, 0, seed=3)
    assert len(folds.mentions) == 70
    assert (folds.of_word == NONE).all()
    assert (folds.of_name == NONE).all()
    assert not folds.held_out(0).any()


def test_a_label_of_several_types_is_no_mention() -> None:
    one = Sentence.from_words(["Oslo", "ran"], [Span(0, 1, "LOC|PER")])
    assert len(make_folds([one], TYPES, 5, seed=1).mentions) == 0


def test_the_seed_decides() -> None:
    draws = [make_folds(corpus_of(), TYPES, 5, seed).of_name.tolist() for seed in (3, 3, 4)]
    assert draws[0] == draws[1] != draws[2]


WORDS = ("a", "b", "c", "d")
NAMES = [name for size in (1, 2) for name in product(WORDS, repeat=size)]
PART = st.tuples(st.sampled_from(NAMES), st.sampled_from(("", "PER", "LOC")))


@given(
    st.lists(st.tuples(st.lists(PART, min_size=1, max_size=6), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 6),
    st.integers(0, 9),
)
def test_whatever_the_labels(
    drawn: list[tuple[list[tuple[tuple[str, ...], str]], bool]], members: int, seed: int
) -> None:
    """Labels decide the fold of their words; other held-out words are part of an occurrence of a name."""
    sentences = [sentence(*[(name, label) if label else name for name, label in parts]) for parts, _ in drawn]
    gold = [fixed for _, fixed in drawn]
    folds = make_folds(sentences, TYPES, members, seed, gold)
    m, words = folds.mentions, [word for s in sentences for word in s.words]
    for start, end, name in zip(m.start, m.end, m.name, strict=True):
        assert (folds.of_word[start:end] == folds.of_name[name]).all()
    assert set(np.unique(folds.of_name).tolist()) <= {NONE, *range(folds.count)}
    fold_of = dict(zip(surfaces(sentences, folds), folds.of_name[m.name].tolist(), strict=True))
    assert len(fold_of) == len(folds.of_name)
    sizes = {label: len(set(m.name[m.label == label].tolist())) for label in (1, 2)}
    for number, fold in enumerate(folds.of_name):
        mine = m.label[m.name == number].tolist()
        assert (fold != NONE) == any(sizes[label] >= FEWEST_NAMES for label in mine)
    for i in np.flatnonzero(folds.of_word != NONE).tolist():
        places = ((i, i + 1), (i, i + 2), (i - 1, i + 1))
        assert folds.of_word[i] in [fold_of.get(tuple(words[max(a, 0) : b])) for a, b in places]


def test_words_held_out_are_in_no_loss(tiny: Path) -> None:
    """No gradient of a member comes from the words of its fold, labelled or not; from the others it does."""
    sentences = corpus_of(30, 25)
    config = load_config(
        overrides={"backbone.name": str(tiny), "optimiser.device": "cpu", "noise_robust.folds": True}
    )
    task = Task.build(config, TYPES, sentences, {})
    folds = member_folds(task, 5)
    held_out = np.stack([folds.held_out(member) for member in (1, 3)])
    assert (held_out.sum(1) > 20).all()
    assert ((task.labels == 0) & held_out).any(1).all(), "unlabelled occurrences are among them"
    mask = input_mask(0.0, task.encoder, torch.device("cpu"))
    options = NoiseRobust(drop_o=0.0, balance=True, repair=True)
    objective = NoiseRobustObjective(task.corpus, task.labels, options, [1, 3], mask, held_out=held_out)
    n = task.corpus.n_words
    b = torch.randn(2, n, generator=torch.Generator().manual_seed(0)).requires_grad_()
    z = torch.zeros(2, n, 2, requires_grad=True)
    words = torch.arange(n).expand(2, n)
    losses_of(objective, [(b, z)], words, torch.ones(2, n)).sum().backward()
    assert b.grad is not None
    assert z.grad is not None
    out = torch.from_numpy(held_out)
    assert (b.grad[out] == 0).all()
    assert (b.grad[~out] != 0).all()
    assert (z.grad[out] == 0).all()


@pytest.mark.parametrize(
    ("more", "held_out"),
    [({}, True), ({"ensemble.enabled": False}, False), ({"noise_robust.folds": False}, False)],
)
def test_a_single_model_learns_all_names(more: dict[str, bool], held_out: bool, tiny: Path) -> None:
    values = {"backbone.name": str(tiny), "optimiser.device": "cpu", "noise_robust.folds": True, **more}
    folds = member_folds(Task.build(load_config(overrides=values), TYPES, corpus_of(), {}), 5)
    assert any(folds.held_out(member).any() for member in range(5)) == held_out
