"""Contextualised augmentations (Section 3.3): sentences rewritten by a masked language model.

    x'_i ~ p_MLM(x masked)        from the model's top 5, where capitalisation and sub-word status fit

`frozen` (the paper): the pre-trained model fills 15 % of the sub-words. `trained` (the released
code): the encoder that is being trained does, and a replacement is drawn at every first sub-word,
masked or not. A word's number of sub-words never changes, so labels stay aligned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from roster.backbone.alignment import Encoded, WordEncoder
from roster.backbone.loading import load_tokenizer
from roster.backbone.token_features import TokenFeatures, token_features
from roster.backbone.words import AnyWordEncoder
from roster.methods.roster.settings import Augmentation
from roster.model.batches import Batch, DeviceCorpus
from roster.model.reading import arithmetic, evaluating
from roster.training.objective import Models, derive_seed

TOKENS = {"cuda": 32768}
"""Sub-words that the language model reads at a time: its logits are many."""


def fits(new: Tensor, old: Tensor, features: TokenFeatures) -> Tensor:
    """Whether a replacement looks like the original: both start a word or neither does, both begin with
    a capital or neither does, both are made of letters and digits or neither is; never a special token."""
    same = features.special[new].logical_not()
    for feature in (features.starts_word, features.capital, features.alphanumeric):
        same = same & (feature[new] == feature[old])
    return same


def choose_masked(candidates: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """A mask over [rows, length]: in each row, `share` of the candidates (at least one), at random."""
    scores = torch.rand(candidates.shape, generator=generator, device=candidates.device)
    scores = scores.masked_fill(~candidates, 2.0)
    count = candidates.sum(1, keepdim=True)
    wanted = (share * count).round().clamp_min(1).clamp_max(count)
    return (scores.argsort(1).argsort(1) < wanted) & candidates


def sample_top(logits: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """One draw for each row from the softmax over its `k` best entries."""
    best = logits.float().topk(min(k, logits.shape[-1]), dim=-1)
    drawn = torch.multinomial(best.values.softmax(-1), 1, generator=generator)
    return best.indices.gather(1, drawn).squeeze(1)


class MaskedLM:
    """A masked language model that gives logits at chosen positions only.

    The head of every architecture takes what the encoder gives; a hook on the encoder leaves only the
    wanted states in it, so the projection to the vocabulary is not paid for the rest.
    """

    def __init__(self, model: Any, device: torch.device):
        self.model = model.to(device).eval().requires_grad_(False)

    def logits(self, ids: Tensor, mask: Tensor, wanted: Tensor) -> Tensor:
        places = wanted.flatten().nonzero().squeeze(1)

        def keep_wanted(module: Any, inputs: Any, output: Any) -> Any:
            output.last_hidden_state = output.last_hidden_state.flatten(0, 1)[places].unsqueeze(0)
            return output

        hook = self.model.base_model.register_forward_hook(keep_wanted)
        try:
            found: Tensor = self.model(input_ids=ids, attention_mask=mask).logits[0]
        finally:
            hook.remove()
        return found


@dataclass(frozen=True)
class OwnAugmenter:
    """Augments with a model of the backbone's own vocabulary, on the device, in the corpus's own layout."""

    lm: MaskedLM
    features: TokenFeatures
    mask_id: int
    config: Augmentation
    corpus: DeviceCorpus
    seed: int
    precision: str

    def __call__(self, models: Models, epoch: int) -> DeviceCorpus:
        trained = self.config.by == "trained"
        if trained:
            encoder = {
                name.removeprefix("encoder."): tensor
                for name, tensor in models.state_dict(0).items()
                if name.startswith("encoder.")
            }
            self.lm.model.base_model.load_state_dict(encoder, strict=False)
        generator = torch.Generator(self.corpus.device).manual_seed(
            derive_seed(self.seed, "augmentation", epoch)
        )
        augmented = self.corpus.ids.clone()
        plan = self.corpus.reading_plan(TOKENS.get(self.corpus.device.type, 1024))
        with evaluating(self.lm.model), arithmetic(self.corpus.device, self.precision):
            for rows, batch in zip(plan, self.corpus.batches(plan), strict=True):
                new = self._rewrite(batch, every_word=trained, generator=generator)
                augmented[torch.from_numpy(rows).to(augmented.device), : new.shape[1]] = new.to(
                    augmented.dtype
                )
        return self.corpus.with_ids(augmented)

    def _rewrite(self, batch: Batch, every_word: bool, generator: torch.Generator) -> Tensor:
        candidates = (batch.mask > 0) & ~self.features.special[batch.ids]
        masked = choose_masked(candidates, self.config.mask, generator)
        wanted = masked
        if every_word:
            wanted = torch.zeros_like(masked).flatten().index_fill(0, batch.at, True).view_as(masked)
        logits = self.lm.logits(batch.ids.masked_fill(masked, self.mask_id), batch.mask, wanted)
        old = batch.ids[wanted]
        drawn = sample_top(self.features.known(logits), self.config.top_k, generator)
        new = batch.ids.clone()
        new[wanted] = torch.where(fits(drawn, old, self.features), drawn, old)
        return new


@dataclass(frozen=True)
class OtherAugmenter:
    """Augments with a masked language model that has another tokenizer.

    Whole words that are one token of its vocabulary are masked and replaced; the new sentence is
    tokenised again by the backbone. A sentence that takes several windows stays as it is.
    """

    lm: MaskedLM
    features: TokenFeatures
    tokenizer: Any
    config: Augmentation
    corpus: DeviceCorpus
    sentences: list[tuple[str, ...]]
    encoder: AnyWordEncoder
    lm_encoder: WordEncoder
    seed: int
    precision: str

    def __call__(self, models: Models, epoch: int) -> DeviceCorpus:
        device = self.corpus.device
        generator = torch.Generator(device).manual_seed(derive_seed(self.seed, "augmentation", epoch))
        theirs = DeviceCorpus.put(
            self.lm_encoder.encode(self.sentences), self.tokenizer.pad_token_id or 0, device
        )
        words = [word for sentence in self.sentences for word in sentence]
        single = torch.from_numpy(_single_token_words(theirs.encoded)).to(device)
        plan = theirs.reading_plan(TOKENS.get(device.type, 1024))
        with evaluating(self.lm.model), arithmetic(device, self.precision):
            for batch in theirs.batches(plan):
                # A word that is not in the vocabulary is one token too: the unknown one.
                whole = single[batch.words] & ~self.features.special[batch.ids.flatten()[batch.at]]
                at, numbers = batch.at[whole], batch.words[whole]
                if not len(at):
                    continue
                candidates = torch.zeros_like(batch.mask, dtype=torch.bool)
                candidates.view(-1)[at] = True
                masked = choose_masked(candidates, self.config.mask, generator)
                number_at = (
                    torch.full_like(batch.ids, -1).flatten().index_copy(0, at, numbers).view_as(batch.ids)
                )
                logits = self.lm.logits(
                    batch.ids.masked_fill(masked, self.tokenizer.mask_token_id), batch.mask, masked
                )
                drawn = sample_top(self.features.known(logits), self.config.top_k, generator)
                old = batch.ids[masked]
                good = fits(drawn, old, self.features)
                for number, token in zip(number_at[masked][good].tolist(), drawn[good].tolist(), strict=True):
                    words[number] = self.tokenizer.decode([token]).strip() or words[number]
        return self._encode(words)

    def _encode(self, words: list[str]) -> DeviceCorpus:
        new_sentences, at = [], 0
        for sentence in self.sentences:
            new_sentences.append(tuple(words[at : at + len(sentence)]))
            at += len(sentence)
        return encode_again(self.corpus, self.encoder, self.sentences, new_sentences)


def encode_again(
    corpus: DeviceCorpus,
    encoder: AnyWordEncoder,
    sentences: Sequence[tuple[str, ...]],
    rewritten: Sequence[tuple[str, ...]],
) -> DeviceCorpus:
    """A corpus of rewritten sentences: as many words in each, but perhaps more or fewer sub-words.

    Window for window it has the words of `corpus`. So a sentence that takes several windows stays as it was,
    where any of them has others now.
    """
    new = encoder.encode(rewritten)
    ours = corpus.encoded
    if new.n_windows != ours.n_windows or not np.array_equal(new.word_starts, ours.word_starts):
        kept = list(rewritten)
        for i, sentence in enumerate(sentences):
            pair = [encoder.encode([sentence]), encoder.encode([rewritten[i]])]
            if max(part.n_windows for part in pair) > 1:
                kept[i] = sentence
        new = encoder.encode(kept)
    return DeviceCorpus.put(new, corpus.pad, corpus.device)


def _single_token_words(encoded: Encoded) -> np.ndarray:
    """For every word whether it is one sub-word: the next word, or the window's end, follows at once."""
    single = np.zeros(encoded.n_words, bool)
    for i in range(encoded.n_windows):
        words = slice(encoded.word_starts[i], encoded.word_starts[i + 1])
        positions = encoded.positions[words]
        ends = np.append(positions[1:], encoded.lengths[i] - 1)
        single[encoded.words[words]] = ends - positions == 1
    return single


def make_augmenter(
    config: Augmentation,
    masked_lm: Any,
    corpus: DeviceCorpus,
    sentences: list[tuple[str, ...]],
    encoder: AnyWordEncoder,
    seed: int,
    precision: str,
) -> OwnAugmenter | OtherAugmenter:
    """The augmenter that the config asks for, with the masked language model that it names."""
    device = corpus.device
    lm = MaskedLM(masked_lm, device)
    if not config.masked_lm:
        features = token_features(encoder.tokenizer, device)
        return OwnAugmenter(lm, features, encoder.tokenizer.mask_token_id, config, corpus, seed, precision)
    tokenizer = load_tokenizer(config.masked_lm)
    lm_encoder = WordEncoder(tokenizer, encoder.limit, lm.model.config.max_position_embeddings - 2)
    return OtherAugmenter(
        lm,
        token_features(tokenizer, device),
        tokenizer,
        config,
        corpus,
        sentences,
        encoder,
        lm_encoder,
        seed,
        precision,
    )
