"""Backbones by name and folder, of every architecture, whole or broken."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import (
    encoder_from_config,
    load_architecture,
    load_encoder,
    load_masked_lm,
    load_tokenizer,
    max_positions,
    resolve,
)
from roster.corpus.sentence import Sentence
from roster.errors import ModelError
from roster.methods.roster.head import TwoHeads
from roster.model.batches import DeviceCorpus
from roster.model.decoding import io_classes
from roster.training.losses import noise_robust_loss

ARCHITECTURES = ["roberta", "bert", "distilbert", "deberta-v2", "modernbert"]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_loads_and_learns(
    name: str, backbones: dict[str, Path], toy: list[Sentence]
) -> None:
    source = str(backbones[name])
    tokenizer = load_tokenizer(source)
    encoder = WordEncoder(tokenizer, 48, max_positions(load_architecture(source)))
    corpus = DeviceCorpus.put(
        encoder.encode([s.words for s in toy]), tokenizer.pad_token_id, torch.device("cpu")
    )
    torch.manual_seed(0)
    model = TwoHeads(load_encoder(source), 2)
    assert all(p.dtype == torch.float32 for p in model.parameters())
    labels = torch.from_numpy(io_classes(toy, ("PER", "LOC"))).long()
    adam = torch.optim.AdamW(model.parameters(), 3e-3)
    losses = []
    plan = corpus.reading_plan(100000)
    for _ in range(6):
        (batch,) = corpus.batches(plan)
        b, z = model(batch)
        y = labels[batch.words]
        loss = noise_robust_loss(b, z, y, torch.ones(len(y)), torch.ones(len(y)), 0.7, 0.7)
        loss.backward()
        # Everything in the encoder is used: nothing is left without a gradient, so nothing of it is idle.
        idle = [n for n, p in model.named_parameters() if p.grad is None]
        assert not idle
        adam.step()
        adam.zero_grad()
        losses.append(loss.item())
    assert all(torch.isfinite(p).all() for p in model.parameters())
    assert losses[-1] < losses[0]
    with torch.no_grad():
        p = model.probabilities(batch)
    torch.testing.assert_close(p.sum(-1), torch.ones(len(p)))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_longest_window_fits(name: str, backbones: dict[str, Path]) -> None:
    """As many sub-words as max_positions says, and the table holds no more."""
    source = str(backbones[name])
    tokenizer, n = load_tokenizer(source), max_positions(load_architecture(source))
    # RoBERTa's positions begin after the padding's, which is 0 here; its table has 66.
    assert n == (65 if name == "roberta" else 64)
    encoder = WordEncoder(tokenizer, 10**6, n)
    encoded = encoder.encode([["Anna"] * 500])
    assert encoded.lengths.max() == n
    corpus = DeviceCorpus.put(encoded, tokenizer.pad_token_id, torch.device("cpu"))
    (batch,) = corpus.batches(corpus.reading_plan(10**6))
    assert torch.isfinite(TwoHeads(load_encoder(source), 2).eval().probabilities(batch)).all()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_the_encoder_is_the_pre_trained_one(name: str, backbones: dict[str, Path]) -> None:
    source = str(backbones[name])
    mine = load_encoder(source).state_dict()
    theirs = load_masked_lm(source).base_model.state_dict()
    assert mine
    for key, value in mine.items():
        assert torch.equal(value, theirs[key]), key
    assert encoder_from_config(source).state_dict().keys() == mine.keys()


def test_padding_does_not_matter(backbones: dict[str, Path]) -> None:
    for name in ARCHITECTURES:
        model = TwoHeads(load_encoder(str(backbones[name])), 2).eval()
        tokenizer = load_tokenizer(str(backbones[name]))
        encoder = WordEncoder(tokenizer, 48)
        both = encoder.encode([["Anna"], ["Anna", "went", "to", "Oslo", "with", "the", "dog"]])
        corpus = DeviceCorpus.put(both, tokenizer.pad_token_id, torch.device("cpu"))
        (batch,) = corpus.batches([corpus.reading_plan(9999)[0]])
        alone = DeviceCorpus.put(encoder.encode([["Anna"]]), tokenizer.pad_token_id, torch.device("cpu"))
        (single,) = alone.batches(alone.reading_plan(9999))
        with torch.no_grad():
            found, expected = model.probabilities(batch), model.probabilities(single)
        torch.testing.assert_close(found[batch.words == 0], expected, atol=1e-5, rtol=1e-4)


def test_names(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(resolve("roster-small-en-2"), "config.json").is_file()
    assert resolve(str(tiny)) == str(tiny)
    assert resolve("bert-base-cased") == "bert-base-cased"
    assert resolve("google/bert") == "google/bert"
    # A local folder of a hub name's form wins.
    shutil.copytree(tiny, tmp_path / "some" / "model")
    monkeypatch.chdir(tmp_path)
    assert resolve("some/model") == "some/model"
    assert load_encoder("some/model").config.hidden_size == 32
    for name in ("./nowhere", "/no/where", "~/nowhere-at-all", "a/b/c"):
        with pytest.raises(ModelError, match="there is no backbone folder"):
            resolve(name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"empty is not a backbone: it has no config\.json"):
        load_encoder(str(tmp_path / "empty"))
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="there is no backbone folder file"):
        resolve("file")


def test_a_hub_name_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for load in (load_encoder, load_tokenizer, load_masked_lm, load_architecture):
        with pytest.raises(
            ModelError, match=r"no-such/model-xyz.*could not be had.*bundled: roster-small-en-2"
        ):
            load("no-such/model-xyz")


@pytest.mark.parametrize(
    "load", [load_encoder, load_masked_lm, load_tokenizer, load_architecture, encoder_from_config]
)
@pytest.mark.parametrize("content", ["{", "", "[]", '{"model_type": "no-such-thing"}', "{}", "\x00\x01"])
def test_a_broken_config(load, content: str, tiny: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    shutil.copytree(tiny, tmp_path / "b")
    (tmp_path / "b" / "config.json").write_text(content)
    if load is load_tokenizer:  # it may not need the config
        with suppress(ModelError):
            load(str(tmp_path / "b"))
        return
    with pytest.raises(ModelError, match="cannot load the") as caught:
        load(str(tmp_path / "b"))
    assert str(tmp_path / "b") in str(caught.value)
    assert len(str(caught.value)) < 700


def test_broken_weights(tiny: Path, tmp_path: Path) -> None:
    weights = tmp_path / "b" / "model.safetensors"
    shutil.copytree(tiny, tmp_path / "b")
    whole = weights.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:5], b"", b"nonsense" * 100):
        weights.write_bytes(broken)
        for load in (load_encoder, load_masked_lm):
            with pytest.raises(ModelError, match="incomplete, damaged"):
                load(str(tmp_path / "b"))
    weights.unlink()
    with pytest.raises(ModelError, match="incomplete, damaged"):
        load_encoder(str(tmp_path / "b"))


def test_weights_of_another_size(tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "b")
    config = json.loads((tmp_path / "b" / "config.json").read_text())
    (tmp_path / "b" / "config.json").write_text(json.dumps({**config, "hidden_size": 64}))
    with pytest.raises(ModelError, match="incomplete, damaged"):
        load_encoder(str(tmp_path / "b"))


def test_layers_that_are_not_there(tiny: Path, tmp_path: Path) -> None:
    """A config with more layers than the file has: no random layer may slip in."""
    shutil.copytree(tiny, tmp_path / "b")
    config = json.loads((tmp_path / "b" / "config.json").read_text())
    (tmp_path / "b" / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ModelError, match=r"incomplete.*layer\.2"):
        load_encoder(str(tmp_path / "b"))


@pytest.mark.parametrize("content", [None, "{", "", '{"version": "1.0"}'])
def test_a_broken_tokenizer(content: str | None, tiny: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "b")
    if content is None:
        (tmp_path / "b" / "tokenizer.json").unlink()
    else:
        (tmp_path / "b" / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match="tokenizer"):
        load_tokenizer(str(tmp_path / "b"))
