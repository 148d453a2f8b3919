"""The config: what it takes, what it refuses and in which words."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roster.config import SHARED, Config, flat, to_toml
from roster.errors import ConfigError
from roster.methods.bond import Bond
from roster.methods.registry import get, names
from roster.methods.request import PRESETS, from_dict, load_config, load_request, read_config
from roster.methods.roster import masked_lm_name
from roster.methods.roster.settings import Augmentation


def options(method: str = "roster") -> list[tuple[str, Any, Any]]:
    """(full name, default, metadata) of every option of a method whose encoder is pre-trained."""
    found = [(f.name, f.default, f.metadata) for f in dataclasses.fields(Config) if f.metadata]
    for section, kind in {**SHARED, **get(method).sections}.items():
        if section != "bilstm":
            found += [(f"{section}.{f.name}", f.default, f.metadata) for f in dataclasses.fields(kind)]
    return found


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Any config that the options allow, extremes included."""
    method = draw(st.sampled_from(names()))
    overrides: dict[str, Any] = {}
    for name, default, meta in options(method):
        low, high = meta["low"], meta["high"]
        if name == "method":
            value: Any = method
        elif isinstance(default, bool):
            value = draw(st.booleans())
        elif isinstance(default, int):
            value = draw(st.integers(low, high if high is not None else 10**9))
        elif isinstance(default, float):
            value = draw(st.floats(low, high if high is not None else 1e9))
        elif meta["choices"]:
            value = draw(st.sampled_from(meta["choices"]))
        else:
            value = draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip))
        overrides[name] = value
    if overrides.get("augmentation.by") != "frozen":
        overrides.pop("augmentation.masked_lm", None)
    if overrides.get("augmentation.by") != "names":
        overrides.pop("augmentation.dictionary", None)
    return load_config(overrides=overrides)


@given(config=configs(), comments=st.booleans())
def test_toml_round_trip(config: Config, comments: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "config.toml"
    path.write_text(to_toml(config, comments=comments), encoding="utf-8")
    assert read_config(path) == config


def test_the_file_documents_every_option() -> None:
    for method in names():
        text = to_toml(load_config(overrides={"method": method, "backbone.name": "x"}))
        for name, _, meta in options(method):
            assert f"# {meta['doc']}\n{name.split('.')[-1]} = " in text
    assert "#" not in to_toml(load_config(), comments=False)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_loads(name: str) -> None:
    assert load_config(preset=name) != load_config() or name == "paper-conll03"


# algorithm.md, section 6: length, epochs of the three stages, U, U'
PAPER = {
    "conll03": (150, 3, 2, 5, 200, 100),
    "ontonotes5": (180, 3, 2, 1, 200, 100),
    "wikigold": (120, 5, 10, 5, 60, 100),
}


@pytest.mark.parametrize("name", PAPER)
def test_presets_of_the_paper(name: str) -> None:
    c = load_config(preset=f"paper-{name}")
    n, e, s = (c.own[stage] for stage in ("noise_robust", "ensemble", "self_training"))
    found = (c.backbone.max_length, n.epochs, e.epochs, s.epochs, n.update_every, s.update_every)
    assert found == PAPER[name]
    assert (n.learning_rate, e.learning_rate, s.learning_rate) == (3e-5, 1e-5, 5e-7)
    assert (n.head_learning_rate, e.head_learning_rate) == (0, 0)
    # Sections 2 to 5.
    a, o = c.own["augmentation"], c.optimiser
    assert (c.method, n.q, n.tau, n.keep_minority, n.drop_o) == ("roster", 0.7, 0.7, 0.9, 0.5)
    assert (n.remove_labels, n.remove_entities, n.mask_inputs) == (True, False, 0)
    assert (e.enabled, e.models, s.enabled) == (True, 5, True)
    assert (s.threshold, s.agreement) == (0.8, True)
    assert (a.enabled, a.by, a.masked_lm, a.mask, a.top_k) == (True, "frozen", "", 0.15, 5)
    assert (o.batch_size, o.weight_decay, o.warmup, o.clip) == (32, 0.01, 0.1, 1.0)


# BOND's own values: rate, batch, epochs, warm-up, begin_step, period, labels
SENTENCES = {"conll03": 14_041, "ontonotes5": 59_924, "wikigold": 1_142}
BOND = {
    "conll03": (1e-5, 16, 50, 200, 900, 450, "soft"),
    "ontonotes5": (2e-5, 32, 20, 500, 25000, 35000, "hard"),
    "wikigold": (1e-5, 16, 50, 20, 350, 700, "soft"),
}


@pytest.mark.parametrize("name", BOND)
def test_presets_of_bond(name: str) -> None:
    c = load_config(preset=f"paper-{name}", overrides=["method=bond"])
    b, o = c.section(Bond), c.optimiser
    steps = b.epochs * math.ceil(SENTENCES[name] / o.batch_size)
    warmup = math.ceil(o.warmup * steps)
    found = (b.learning_rate, o.batch_size, b.epochs, warmup, b.begin_step, b.period, b.labels)
    assert found == BOND[name]
    assert (b.threshold, o.weight_decay, o.beta2, b.head_learning_rate) == (0.9, 1e-4, 0.98, 0)


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("seed = 5\n[noise_robust]\nepochs = 7\nq = 0.1\n")
    c = load_config(preset="paper-wikigold", file=file, overrides=["noise_robust.q=0.2"])
    assert (c.seed, c.own["noise_robust"].epochs, c.own["noise_robust"].q) == (5, 7, 0.2)
    assert c.own["noise_robust"].update_every == 60  # the preset's
    assert load_config(overrides=["seed=1", "seed=2"]).seed == 2


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("noise_robust.q=0.5", "noise_robust.q", 0.5),
        ("noise_robust.q=1", "noise_robust.q", 1.0),
        ("noise_robust.learning_rate=1e-4", "noise_robust.learning_rate", 1e-4),
        ("ensemble.models=3", "ensemble.models", 3),
        ("ensemble.models=3.0", "ensemble.models", 3),
        ("self_training.enabled=false", "self_training.enabled", False),
        ("backbone.name=bert-base-cased", "backbone.name", "bert-base-cased"),
        ('backbone.name="my folder"', "backbone.name", "my folder"),
        ("backbone.name=/a/b=c", "backbone.name", "/a/b=c"),
        (" method = fine-tune ", "method", "fine-tune"),
        ("augmentation.masked_lm=", "augmentation.masked_lm", ""),
    ],
)
def test_overrides(text: str, path: str, value: object) -> None:
    found = flat(load_config(overrides=[text]).as_dict())[path]
    assert found == value
    assert type(found) is type(value)


def test_overrides_as_a_mapping() -> None:
    c = load_config(overrides={"noise_robust.q": 0.5, "ensemble": {"models": 2}})
    assert (c.own["noise_robust"].q, c.own["ensemble"].models) == (0.5, 2)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("noise_robust.qq=1", r"there is no option 'noise_robust\.qq'; did you mean 'noise_robust\.q'\?"),
        ("noise_robust.epoch=1", r"did you mean 'noise_robust\.epochs'\?"),
        ("noise-robust.epochs=1", r"did you mean 'noise_robust'\?"),
        ("sed=1", r"did you mean 'seed'\?"),
        ("zzz=1", r"there is no option 'zzz'; expected one of method, seed, backbone"),
        ("seed.x=1", "'seed' is an option, not a section"),
        ("ensemble=1", "'ensemble' is a section, with the options enabled, models"),
        ("noise_robust.q.x=1", r"'noise_robust\.q' is an option, not a section"),
        ("seed", "expected a.b=value"),
        ("=3", "expected a.b=value"),
        ("noise_robust.q=2", r"'noise_robust\.q' must be between 0 and 1, not 2"),
        ("noise_robust.q=-0.1", "between 0 and 1"),
        ("noise_robust.q=nan", "between 0 and 1, not nan"),
        ("noise_robust.learning_rate=nan", "at least 0, not nan"),
        ("noise_robust.learning_rate=inf", "must be finite"),
        ("noise_robust.learning_rate=1" + "0" * 400, "must be"),
        ("noise_robust.epochs=-1", "between 1 and 10000, not -1"),
        ("noise_robust.epochs=0", "between 1 and 10000, not 0"),
        ("noise_robust.epochs=1.5", "must be a whole number, not 1.5"),
        ("noise_robust.epochs=nan", "must be a whole number"),
        ("noise_robust.epochs=true", "must be a whole number, not True"),
        ("noise_robust.q=true", "must be a number, not True"),
        ("noise_robust.epochs=many", "must be a whole number, not 'many'"),
        ("noise_robust.epochs=[1]", r"must be a whole number, not \[1\]"),
        ("ensemble.enabled=1", "must be true or false, not 1"),
        ("ensemble.enabled=yes", "must be true or false, not 'yes'"),
        ("backbone.name=3", "must be text, not 3"),
        ("backbone.name=", "'backbone.name' is empty"),
        ("method=ner", "there is no method 'ner'; the methods are roster, autoner, "),
        ("optimiser.precision=fp16", "one of auto, float32, bfloat16"),
        ("seed=-1", "between 0 and 2147483647"),
        ("optimiser.clip=0", "at least 1e-06"),
    ],
)
def test_refused(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(overrides=[override])


def test_what_no_field_can_see_alone() -> None:
    pair = {"augmentation.by": "trained", "augmentation.masked_lm": "bert-base-cased"}
    with pytest.raises(ConfigError, match="augments with the model itself"):
        load_config(overrides=pair)
    assert load_config(overrides={**pair, "augmentation.by": "frozen"}).section(Augmentation).masked_lm
    with pytest.raises(ConfigError, match="needs no model"):
        load_config(overrides={**pair, "augmentation.by": "names"})
    with pytest.raises(ConfigError, match="is read only where"):
        load_config(overrides={"augmentation.dictionary": "names.tsv"})
    assert load_config(overrides={"augmentation.by": "names", "augmentation.dictionary": "n"}).section(
        Augmentation
    )


def test_files_that_are_no_config(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    with pytest.raises(ConfigError, match=r"c\.toml: no such config file"):
        read_config(path)
    path.write_text("seed = = 3")
    with pytest.raises(ConfigError, match=r"c\.toml: not a TOML file.*line 1"):
        load_config(file=path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not a TOML file"):
        load_config(file=path)
    with pytest.raises(ConfigError, match="directory"):
        load_config(file=tmp_path)
    path.write_text("[noise_robust]\nqqq = 1\n")
    with pytest.raises(ConfigError, match=r"c\.toml: there is no option 'noise_robust\.qqq'"):
        load_config(file=path)
    path.write_text("\ufeffseed = 3\n", encoding="utf-8")
    assert load_config(file=path).seed == 3


def test_a_request_has_only_what_was_given(tmp_path: Path) -> None:
    assert load_request().given == {}
    assert load_request().preset is None
    file = tmp_path / "c.toml"
    file.write_text("seed = 4\n[noise_robust]\nq = 0.3\ntau = 0.6\n")
    request = load_request(file=file, overrides=["noise_robust.q=0.2", ("ensemble", {"models": 2})])
    given = {"seed": 4, "noise_robust.q": 0.2, "noise_robust.tau": 0.6, "ensemble.models": 2}
    assert request.given == given
    assert request.config() == load_config(overrides=given)
    more = request.with_values({"noise_robust.q": 0.9, "ensemble.epochs": 3})
    assert more.given == {**given, "noise_robust.q": 0.9, "ensemble.epochs": 3}
    assert request.given == given
    assert request.as_dict() == {"preset": None, "given": given}
    # A value is given also where it is the default.
    assert load_request(overrides=["noise_robust.q=0.7"]).given == {"noise_robust.q": 0.7}


def test_a_request_with_a_preset() -> None:
    request = load_request(preset="paper-wikigold", overrides=["seed=4"])
    assert request.preset == "paper-wikigold"
    assert request.config() == load_config(preset="paper-wikigold", overrides=["seed=4"])
    assert request.with_values({"seed": 5}).preset == "paper-wikigold"


@pytest.mark.parametrize("wrong", ["noise_robust.qq=1", "noise_robust.q=2", "noise_robust.curriculum=1"])
def test_a_request_is_checked_at_once(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"noise_robust\."):
        load_request(overrides=[wrong])


@given(config=configs())
def test_a_written_config_is_a_complete_request(
    config: Config, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "request.toml"
    path.write_text(to_toml(config), encoding="utf-8")
    request = load_request(file=path)
    assert request.config() == config
    assert set(request.given) == {name for name, _, _ in options(config.method)}


def test_an_unknown_preset() -> None:
    with pytest.raises(ConfigError, match="there is no preset 'conll'; the presets are paper-conll03, "):
        load_config(preset="conll")


def test_defaults_are_allowed() -> None:
    for method in names():
        config = load_config(overrides={"method": method})
        assert from_dict({"method": method}) == config
        assert from_dict(config.as_dict()) == config


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, "b"),
        ({"augmentation.by": "trained"}, "b"),
        ({"augmentation.masked_lm": "lm"}, "lm"),
        ({"augmentation.by": "names"}, None),
        ({"augmentation.masked_lm": "lm", "augmentation.enabled": False}, None),
        ({"augmentation.masked_lm": "lm", "self_training.enabled": False}, None),
    ],
)
def test_which_masked_language_model(overrides: dict[str, Any], expected: str | None) -> None:
    assert masked_lm_name(load_config(overrides={"backbone.name": "b", **overrides})) == expected
