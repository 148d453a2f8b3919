"""What is derived from data and encoder: bounds and relations, at every size, for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.config import Config
from roster.corpus.sentence import Sentence, Span
from roster.methods import facts as facts_module
from roster.methods import roster as roster_method
from roster.methods.bond import Bond
from roster.methods.defaults import derive, settle
from roster.methods.facts import Facts, epochs_for, facts_of, learning_rate
from roster.methods.registry import names
from roster.methods.request import load_config, load_request
from roster.methods.roster.settings import Ensemble, NoiseRobust, SelfTraining

TINY = Facts(
    sentences=40, words=300, labels=60, names=30, types=2, phrases=0, length=20, width=384, positions=512,
    pretrained=True, masks=True,
)  # fmt: skip
SIZES = {"tiny": 40, "small": 1_000, "medium": 14_000, "large": 115_000, "huge": 1_000_000}


def sized(sentences: int, **more: Any) -> Facts:
    return replace(TINY, sentences=sentences, words=20 * sentences, labels=sentences, **more)


def settled(facts: Facts, *overrides: str) -> Config:
    return settle(load_request(overrides=overrides), facts)[0]


@pytest.mark.parametrize("method", names())
@pytest.mark.parametrize("sentences", [1, *SIZES.values()])
def test_every_size_gives_a_config(method: str, sentences: int) -> None:
    """Within what the options allow, and without a trace of how it came about: TOML takes it."""
    config = settled(sized(sentences), f"method={method}")
    assert config.method == method
    assert config == load_config(overrides=[(n, v) for n, v in flat(config).items()])


def flat(config: Config) -> dict[str, Any]:
    found = {}
    for name, value in config.as_dict().items():
        found.update(
            {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {name: value}
        )
    return found


def steps(config: Config, sentences: int) -> int:
    return config.section(NoiseRobust).epochs * sized(sentences).steps_per_epoch(config.optimiser.batch_size)


def test_steps_of_a_member_by_size() -> None:
    """Few sentences are gone through often enough, but not without end; a million once."""
    taken = {n: steps(settled(sized(n)), n) for n in SIZES.values()}
    epochs = [settled(sized(n)).own["noise_robust"].epochs for n in SIZES.values()]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[-1] == 1
    assert epochs[0] <= facts_module.MOST_EPOCHS_OF_FEW
    assert taken[SIZES["small"]] >= facts_module.FEWEST_STEPS
    assert facts_module.FEWEST_STEPS <= taken[SIZES["medium"]] <= 2 * roster_method.STEPS


@given(st.integers(1, 10**6), st.sampled_from([600, 1000, 1500, 3000]))
def test_epochs(per_epoch: int, wanted: int) -> None:
    found = epochs_for(wanted, per_epoch)
    assert 1 <= found <= facts_module.MOST_EPOCHS_OF_FEW
    assert found <= facts_module.MOST_EPOCHS or found * (per_epoch - 1) < facts_module.FEWEST_STEPS + found
    assert found == facts_module.MOST_EPOCHS_OF_FEW or found * per_epoch >= facts_module.FEWEST_STEPS
    assert epochs_for(wanted, per_epoch + 1) <= found
    assert epochs_for(2 * wanted, per_epoch) >= found


def test_stages_are_shorter_one_after_the_other() -> None:
    for sentences in SIZES.values():
        c = settled(sized(sentences))
        first, then, last = (c.own[stage] for stage in ("noise_robust", "ensemble", "self_training"))
        assert first.epochs >= then.epochs >= last.epochs >= 1
        assert last.learning_rate < then.learning_rate <= first.learning_rate
        total = steps(c, sentences)
        assert 5 <= total // c.own["noise_robust"].update_every <= 2 * roster_method.UPDATES or total < 12
    rates = [settled(sized(n)).own["self_training"].learning_rate for n in SIZES.values()]
    assert rates == sorted(rates, reverse=True)  # a longer stage is to move a model by no more
    assert rates[-1] < rates[0]


def test_robust_settings_where_labels_may_be_wrong() -> None:
    own = settled(TINY).own["noise_robust"]
    assert own.folds
    assert own.balance
    assert own.repair
    assert 0 < own.plain_types < 1
    assert own.remove_entities
    assert 0 < own.entity_warmup < 1
    assert settled(TINY).own["ensemble"].start == "member"
    assert settled(TINY).own["ensemble"].loss == "joint"
    assert own.mask_inputs > 0
    assert settled(replace(TINY, masks=False)).own["noise_robust"].mask_inputs == 0


def test_phrases_of_unknown_type() -> None:
    """Words outside them are O for sure."""
    without, given = settled(sized(5000)), settled(sized(5000, phrases=3000))
    assert given.own["noise_robust"].drop_o == 0 < without.own["noise_robust"].drop_o
    assert given.own["noise_robust"].plain > without.own["noise_robust"].plain == 0
    assert not given.own["noise_robust"].balance
    assert given.own["noise_robust"].tau < without.own["noise_robust"].tau
    assert settled(sized(5000), "method=autoner").own["autoner"].phrases is False
    assert settled(sized(5000, phrases=3000), "method=autoner").own["autoner"].phrases is True


def test_names_written_like_other_words() -> None:
    """No O word is left out where most labels are in lower case; nothing else follows from the case."""
    usual, lower = settled(sized(5000)), settled(replace(sized(5000), lower=0.8))
    assert lower.own["noise_robust"].drop_o == 0 < usual.own["noise_robust"].drop_o
    assert (
        replace(lower.own["noise_robust"], drop_o=usual.own["noise_robust"].drop_o)
        == usual.own["noise_robust"]
    )
    assert settled(replace(sized(5000), lower=0.3)) == usual
    assert "80% of the labels have no capital" in settle(load_request(), replace(sized(5000), lower=0.8))[1]
    assert "capital" not in settle(load_request(), sized(5000))[1]
    given = load_request(overrides=["noise_robust.drop_o=0.25"])
    config, text = settle(given, replace(sized(5000), lower=0.8))
    assert config.section(NoiseRobust).drop_o == 0.25
    assert "capital" not in text


@pytest.mark.parametrize(
    ("method", "rate"),
    [("roster", "noise_robust"), ("fine-tune", "fine_tune"), ("bond", "bond"), ("autoner", "autoner")],
)
def test_narrow_and_wide_encoders(method: str, rate: str) -> None:
    rates = [
        settled(replace(TINY, width=width), f"method={method}").own[rate].learning_rate
        for width in (32, 128, 256, 384, 512, 768, 1024)
    ]
    assert rates == sorted(rates, reverse=True)
    assert 1e-5 < rates[-1] < rates[3] < rates[0] <= facts_module.MOST_RATE
    untrained = settled(replace(TINY, pretrained=False), f"method={method}")
    assert untrained.own[rate].learning_rate > rates[3]


def test_a_rate_reads_well() -> None:
    for width in range(32, 1100, 7):
        assert (
            len(f"{learning_rate(replace(TINY, width=width)):e}".rstrip("0").split("e")[0].rstrip("0")) <= 3
        )


@pytest.mark.parametrize(
    ("length", "positions", "expected"),
    [(5, 512, 64), (64, 512, 64), (65, 512, 72), (200, 512, 200), (2000, 512, 256), (2000, 128, 128),
     (5, 32, 32), (2000, None, 256)],
)  # fmt: skip
def test_windows(length: int, positions: int | None, expected: int) -> None:
    """As long as nearly all sentences, in whole eights, and never longer than the encoder takes."""
    config = settled(replace(TINY, length=length, positions=positions))
    assert config.backbone.max_length == expected


@pytest.mark.parametrize("sentences", [1, *SIZES.values()])
def test_bond_has_a_teacher_for_half_of_the_steps(sentences: int) -> None:
    config = settled(sized(sentences), "method=bond")
    c = config.section(Bond)
    total = c.epochs * sized(sentences).steps_per_epoch(config.optimiser.batch_size)
    assert 0 < c.begin_step <= total / 2 < total
    assert c.begin_step + c.period <= total
    assert config.optimiser.warmup * total < c.begin_step


def test_what_the_user_gives_wins() -> None:
    options = {
        "noise_robust.epochs": 2, "noise_robust.learning_rate": 7e-5, "noise_robust.folds": False,
        "noise_robust.mask_inputs": 0.0, "ensemble.start": "pretrained", "ensemble.models": 3,
        "self_training.update_every": 9, "backbone.max_length": 50, "optimiser.batch_size": 4,
    }  # fmt: skip
    derived = derive(load_config(), TINY)
    assert set(options) - set(derived) == {"ensemble.models", "optimiser.batch_size"}
    assert all(derived[name] != value for name, value in options.items() if name in derived)
    request = load_request(overrides=options)
    config, _ = settle(request, TINY)
    found = flat(config)
    assert {name: found[name] for name in options} == options
    # All else is derived as it would be.
    assert config.section(NoiseRobust).repair
    assert request.given == options


def test_a_complete_file_leaves_nothing_to_derive(tmp_path: Path) -> None:
    from roster.config import to_toml

    for facts in (TINY, sized(14_000, phrases=9, width=768)):
        config = settled(facts)
        (tmp_path / "c.toml").write_text(to_toml(config))
        again = load_request(file=tmp_path / "c.toml")
        assert settle(again, sized(1_000_000, width=128))[0] == config


def test_steps_follow_the_epochs_that_are_given() -> None:
    """Counted in steps of the training that there will be, not of the one that was derived."""
    facts = sized(14_000)
    per_epoch = facts.steps_per_epoch(32)
    c = settled(facts, "noise_robust.epochs=1", "self_training.epochs=7")
    assert c.own["noise_robust"].update_every < per_epoch / 5
    assert c.own["self_training"].update_every > per_epoch
    with_bond = settled(facts, "method=bond", "bond.epochs=1")
    bond = with_bond.section(Bond)
    assert bond.begin_step + bond.period <= facts.steps_per_epoch(with_bond.optimiser.batch_size)
    sizes = [settled(facts, f"optimiser.batch_size={n}").own["noise_robust"].epochs for n in (8, 32, 128)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_the_text_names_the_facts() -> None:
    facts = replace(sized(14_000), labels=23_456, names=4_321, types=4, width=384, phrases=0)
    config, text = settle(load_request(), facts)
    for part in ("14,000 sentences", "280,000 words", "23,456 labels", "4,321 names", "4 types", "width 384",
                 f"windows of {config.backbone.max_length} sub-words",
                 f"{config.section(Ensemble).models} members",
                 f"{config.section(NoiseRobust).epochs} epochs",
                 f"{config.section(NoiseRobust).learning_rate:g}",
                 f"{config.section(SelfTraining).learning_rate:g}"):  # fmt: skip
        assert part in text, part
    assert "phrases" not in text
    assert "1,234 phrases of unknown type" in settle(load_request(), replace(facts, phrases=1234))[1]
    # It tells what will be, also where that was given.
    text = settle(load_request(overrides=["noise_robust.epochs=77", "self_training.enabled=false"]), facts)[1]
    assert "77 epochs" in text
    assert "Self-training" not in text


@pytest.mark.parametrize("method", names())
def test_the_text_of_each_method(method: str) -> None:
    config, text = settle(load_request(overrides=[f"method={method}"]), TINY)
    section = config.own["noise_robust" if method == "roster" else method.replace("-", "_")]
    assert f"{section.epochs} epochs" in text
    assert f"{section.learning_rate:g}" in text


def test_a_time_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roster.methods.budget.measure_step", lambda config, facts: 1.0)
    whole = settle(load_request(), sized(1000))[0]
    config, text = settle(load_request(), sized(1000), minutes=20)
    own = config.section(Ensemble)
    assert own.models < whole.section(Ensemble).models or not own.enabled
    assert "20 minutes" in text
    kept = load_request(overrides=["ensemble.models=5", "ensemble.enabled=true"])
    config, text = settle(kept, sized(1000), minutes=20)
    assert (config.section(Ensemble).models, config.section(Ensemble).enabled) == (5, True)
    assert "ensemble: models" not in text
    assert "ensemble: enabled" not in text


def words(*parts: tuple[str, str]) -> Sentence:
    found, spans = [], []
    for text, label in parts:
        new = text.split()
        if label:
            spans.append(Span(len(found), len(found) + len(new), label))
        found += new
    return Sentence.from_words(found, spans)


def data() -> Sequence[Sentence]:
    one = words(("Anna Berg", "PER"), ("went to", ""), ("Paris", "LOC"))
    other = words(("Anna Berg", "PER"), ("and", ""), ("Paris", "PER"))
    maybe = other.with_spans(other.spans, [Span(2, 3, "")])
    return [one, one, maybe, Sentence.from_words([], []), Sentence.from_words(["no"], None)]


def test_facts_by_hand(tiny: Path) -> None:
    facts = facts_of(load_config(overrides={"backbone.name": str(tiny)}), data())
    assert (facts.sentences, facts.words, facts.labels) == (5, 15, 6)
    assert (facts.names, facts.types, facts.phrases) == (3, 2, 1)
    assert facts.lower == 0
    cased = [
        words(("Anna", "PER"), ("heard", ""), ("the viol", "MISC")),
        words(("oboe d'amore", "MISC"), ("", "")),
    ]
    assert facts_of(load_config(overrides={"backbone.name": str(tiny)}), cased).lower == 2 / 3
    assert (facts.width, facts.positions, facts.pretrained, facts.masks) == (32, 65, True, True)
    assert 5 + 2 <= facts.length <= 5 * 4  # words or more, with two special tokens
    short = facts_of(load_config(overrides={"backbone.name": str(tiny)}), [words(("the", ""))] * 9)
    assert short.length == 3


def test_facts_of_whole_words() -> None:
    facts = facts_of(load_config(overrides=["method=bilstm-crf", "bilstm.hidden=50"]), data())
    assert (facts.width, facts.positions, facts.pretrained) == (100, None, False)
    assert facts.length == 5  # words, and no special tokens


def test_facts_of_the_bundled_encoder() -> None:
    facts = facts_of(load_config(), data())
    assert facts.pretrained
    assert facts.masks
    assert facts.width >= 256


def test_no_sentences(tiny: Path) -> None:
    """Whether there is anything to train on is asked later, in better words."""
    request = load_request(overrides={"backbone.name": str(tiny)})
    facts = facts_of(request.config(), [])
    assert (facts.sentences, facts.words) == (0, 0)
    for method in names():
        settle(request.with_values({"method": method}), facts)
