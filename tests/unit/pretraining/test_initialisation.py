"""What a training starts from, and in what shape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM

from roster.backbone.loading import load_tokenizer, max_positions
from roster.errors import ConfigError, ModelError
from roster.pretraining.initialisation import build, new_model, reshape, same_vocabulary
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.vocabulary_reduction import reduce_vocabulary


def shape(model: Any) -> tuple[int, int, int, int]:
    c = model.config
    inner = c.hidden_dim if c.model_type == "distilbert" else c.intermediate_size
    return c.num_hidden_layers, c.hidden_size, c.num_attention_heads, inner


def test_a_new_model(tokenizers: dict[str, Any]) -> None:
    settings = PretrainingSettings(layers="2", width=64, heads=4, inner=100, positions=30)
    for kind, tokens, expected in (("bpe", "bpe", "roberta"), ("wordpiece", "wordpiece", "bert")):
        tokenizer = tokenizers[kind]
        model = new_model(PretrainingSettings(**{**settings.as_dict(), "tokens": tokens}), tokenizer)
        assert model.config.model_type == expected
        assert shape(model) == (2, 64, 4, 100)
        assert model.config.vocab_size == len(tokenizer)
        assert model.config.pad_token_id == tokenizer.pad_token_id
        assert max_positions(model.config) == 30
        ids = torch.full((1, 30), 7)
        assert model(input_ids=ids).logits.shape == (1, 30, len(tokenizer))


def test_the_default_shape(tokenizers: dict[str, Any]) -> None:
    assert shape(new_model(PretrainingSettings(), tokenizers["bpe"])) == (6, 384, 12, 1536)
    assert shape(new_model(PretrainingSettings(width=96, layers="1"), tokenizers["bpe"])) == (1, 96, 3, 384)
    assert shape(new_model(PretrainingSettings(width=20, layers="1"), tokenizers["bpe"])) == (1, 20, 4, 80)


def test_narrow_layers_begin_as_loud_as_wide_ones(tokenizers: dict[str, Any]) -> None:
    torch.manual_seed(0)
    sizes = {}
    for width in (24, 384, 768):
        model = new_model(PretrainingSettings(layers="1", width=width), tokenizers["bpe"])
        weight = model.roberta.encoder.layer[0].attention.self.value.weight
        sizes[width] = float(weight.norm(dim=1).mean().detach())
    assert sizes[24] == pytest.approx(sizes[384], rel=0.05)
    assert sizes[768] == pytest.approx(0.02 * 768**0.5, rel=0.05)


def test_new_models_that_cannot_be(tokenizers: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="'layers' must be a number for a model"):
        new_model(PretrainingSettings(layers="0,2"), tokenizers["bpe"])
    with pytest.raises(ConfigError, match=r"'width' \(20\) must be a multiple of 'heads' \(3\)"):
        new_model(PretrainingSettings(width=20, heads=3), tokenizers["bpe"])


def test_the_seed_decides(tokenizers: dict[str, Any]) -> None:
    def weights(seed: int) -> torch.Tensor:
        torch.rand(seed + 3)  # what was drawn before does not count
        model = build(PretrainingSettings(layers="1", width=16, seed=seed), tokenizers["bpe"], None).model
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def load(folder: Path) -> Any:
    return AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()


def logits(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model.eval()(input_ids=torch.tensor([ids])).logits[0]
    return found


def test_as_it_is(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    for kind, convention in (("roberta", "bpe"), ("modernbert", "modern")):
        start = build(PretrainingSettings(start=str(backbones[kind])), tokenizers[convention], None)
        ids = [2, 9, 30, 44, 3]
        torch.testing.assert_close(logits(start.model, ids), logits(load(backbones[kind]), ids))
        assert start.teacher is None
        assert start.description == f"from {backbones[kind]}"


def test_an_encoder_without_a_head(
    backbones: dict[str, Path], tokenizers: dict[str, Any], tmp_path: Path
) -> None:
    encoder = AutoModel.from_pretrained(backbones["bert"], add_pooling_layer=False, dtype=torch.float32)
    encoder.save_pretrained(tmp_path)
    tokenizers["wordpiece"].save_pretrained(tmp_path)
    start = build(PretrainingSettings(start=str(tmp_path)), tokenizers["wordpiece"], None)
    assert "new masked-LM head" in start.description
    ids = torch.tensor([[2, 9, 30, 3]])
    with torch.no_grad():
        mine = start.model.eval().bert(input_ids=ids).last_hidden_state
        torch.testing.assert_close(mine, encoder.eval()(input_ids=ids).last_hidden_state)
    with pytest.raises(ModelError, match="no trained masked-language-model head"):
        build(PretrainingSettings(teacher=str(tmp_path)), tokenizers["wordpiece"], None)


def test_a_student_from_its_teacher(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    folder = str(backbones["roberta"])
    start = build(PretrainingSettings(teacher=folder, layers="1", width=16), tokenizers["bpe"], None)
    assert shape(start.teacher) == (2, 32, 2, 64)
    assert shape(start.model) == (1, 16, 1, 64)
    assert (
        start.description
        == f"from the weights of {folder}, pruned to 1 layers x 16, 1 heads, feed-forward 64"
    )
    whole = build(PretrainingSettings(teacher=folder), tokenizers["bpe"], None)
    assert not {p.data_ptr() for p in whole.model.parameters()} & {
        p.data_ptr() for p in whole.teacher.parameters()
    }
    ids = [2, 9, 30, 3]
    torch.testing.assert_close(logits(whole.model, ids), logits(whole.teacher, ids))


def test_a_student_of_another_vocabulary(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    teacher, start = str(backbones["roberta"]), str(backbones["distilbert"])
    found = build(PretrainingSettings(teacher=teacher, start=start), tokenizers["bpe"], None)
    assert "transferred to the vocabulary of the teacher" in found.description
    assert found.model.config.model_type == "distilbert"
    assert found.model.config.vocab_size == found.teacher.config.vocab_size == len(tokenizers["bpe"])
    one, other = (tokenizers[kind].convert_tokens_to_ids(t) for kind, t in (("bpe", "Ġthe"),
                                                                          ("wordpiece", "the")))  # fmt: skip
    table = load(backbones["distilbert"]).get_input_embeddings().weight
    assert torch.equal(found.model.get_input_embeddings().weight[one], table[other])


@pytest.mark.parametrize("other", [False, True])
def test_a_cut_vocabulary_for_both(
    other: bool, backbones: dict[str, Path], tokenizers: dict[str, Any]
) -> None:
    tokenizer = tokenizers["bpe"]
    cut, kept = reduce_vocabulary(tokenizer, np.zeros(len(tokenizer), dtype=np.int64), 300)
    start = str(backbones["bert" if other else "roberta"])
    found = build(
        PretrainingSettings(teacher=str(backbones["roberta"]), start=start, vocabulary=300), cut, kept
    )
    assert found.model.config.vocab_size == found.teacher.config.vocab_size == len(cut) == 300
    ids = cut("the").input_ids
    old = tokenizer("the").input_ids
    expected = logits(load(backbones["roberta"]), [int(kept[i]) for i in ids])[:, kept]
    torch.testing.assert_close(logits(found.teacher, ids), expected)
    assert len(old) <= len(ids)


def test_a_rounded_up_vocabulary(
    backbones: dict[str, Path], tokenizers: dict[str, Any], tmp_path: Path
) -> None:
    """A teacher with more rows than its tokenizer has entries, and a student with as many as there are."""
    model, tokenizer = load(backbones["roberta"]), tokenizers["bpe"]
    model.resize_token_embeddings(len(tokenizer) + 28)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    for start in (backbones["distilbert"], backbones["roberta"]):
        found = build(PretrainingSettings(teacher=str(tmp_path), start=str(start)), tokenizer, None)
        assert found.teacher.config.vocab_size == found.model.config.vocab_size == len(tokenizer)
    ids = [2, 9, 30, 3]
    torch.testing.assert_close(logits(found.teacher, ids), logits(model, ids)[:, : len(tokenizer)])


def test_reshape(backbones: dict[str, Path]) -> None:
    model = load(backbones["roberta"])
    assert reshape(model, PretrainingSettings()) is model
    assert reshape(model, PretrainingSettings(layers="2", width=32, heads=2, inner=64)) is model
    assert shape(reshape(model, PretrainingSettings(layers="1"))) == (1, 32, 2, 64)
    assert shape(reshape(model, PretrainingSettings(layers="1,0"))) == (2, 32, 2, 64)
    assert shape(reshape(model, PretrainingSettings(width=24))) == (
        2,
        24,
        2,
        64,
    )  # not 96 units, which it has not
    assert shape(reshape(model, PretrainingSettings(width=8))) == (2, 8, 1, 32)
    assert shape(reshape(model, PretrainingSettings(inner=10))) == (2, 32, 2, 10)
    with pytest.raises(ConfigError, match="the model has 2 layers, 0 to 1"):
        reshape(model, PretrainingSettings(layers="0,2"))
    with pytest.raises(ConfigError, match="the model has 2 layers, not 3"):
        reshape(model, PretrainingSettings(layers="3"))


def test_same_vocabulary(backbones: dict[str, Path], tokenizers: dict[str, Any]) -> None:
    assert same_vocabulary(tokenizers["bpe"], load_tokenizer(str(backbones["roberta"])))
    assert not same_vocabulary(tokenizers["bpe"], tokenizers["modern"])
