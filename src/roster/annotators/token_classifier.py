"""A token classifier of transformers as an annotator.

It reads the corpus's own words, in overlapping windows where a sentence is longer than the model takes. The
class of a word is that of its first sub-word, and the classes of a sentence are decoded as tags.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from roster.backbone.alignment import WordEncoder
from roster.backbone.loading import load_token_classifier, load_tokenizer, max_positions
from roster.corpus import tags as codec
from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import starts_within
from roster.distant.matching.span_mentions import ScoredSpan
from roster.errors import ModelError
from roster.infer.batches import padded, words_of
from roster.infer.logits import probabilities
from roster.infer.recogniser import CHUNK_WORDS, chunks
from roster.model.plan import plan
from roster.model.reading import TOKENS, arithmetic, choose_device

LONGEST = 512
"""Sub-words in a window at most, for models whose length has no limit."""


class TokenClassifier:
    """Annotates with a model for token classification; the score of a span is the mean of its words.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        ModelError: it cannot be loaded, is no token classifier, or has no class O.
    """

    def __init__(self, name: str, device: str = "auto"):
        self._device = choose_device(device)
        model = load_token_classifier(name)
        self._model = model.eval().to(self._device)
        self._tags = [str(model.config.id2label[number]) for number in range(model.config.num_labels)]
        if "O" not in self._tags:
            raise ModelError(
                f"{name}: expected tags such as O and B-PER as the classes of the model, found "
                f"{', '.join(self._tags[:5])}; name them in id2label of its config.json"
            )
        tokenizer = load_tokenizer(name)
        self._encoder = WordEncoder(
            tokenizer, min(int(tokenizer.model_max_length), LONGEST), max_positions(model.config)
        )

    def __call__(self, sentences: Sequence[Sentence]) -> Iterator[list[ScoredSpan]]:
        """The entities of each sentence."""
        for chunk, _ in chunks(sentences, CHUNK_WORDS):
            p, at = self._probabilities(chunk), 0
            best, score = p.argmax(-1).tolist(), p.max(-1)
            for sentence in chunk:
                spans = codec.decode([self._tags[c] for c in best[at : at + len(sentence)]])
                means = [round(float(score[at + x.start : at + x.end].mean()), 4) for x in spans]
                yield [
                    ScoredSpan(*sentence.char_span(x), x.label, mean)
                    for x, mean in zip(spans, means, strict=True)
                ]
                at += len(sentence)

    @torch.inference_mode()
    def _probabilities(self, sentences: Sequence[Sentence]) -> np.ndarray:
        """[words, classes] of all sentences."""
        encoded = self._encoder.encode([sentence.words for sentence in sentences], starts_within(sentences))
        found = np.zeros((encoded.n_words, len(self._tags)), np.float32)
        for rows in plan(encoded.lengths, TOKENS.get(self._device.type, 2048)):
            ids, mask, at = padded(encoded, rows, self._encoder.specials.pad)
            with arithmetic(self._device):
                inputs = {"input_ids": ids, "attention_mask": mask}
                tensors = {key: torch.from_numpy(value).to(self._device) for key, value in inputs.items()}
                logits = self._model(**tensors).logits.float().cpu().numpy()
            found[words_of(encoded, rows)] = logits.reshape(-1, logits.shape[-1])[at]
        return probabilities("softmax", found)
