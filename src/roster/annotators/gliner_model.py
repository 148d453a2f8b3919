"""GLiNER, which finds entities of types that are given as words, as an annotator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roster.backbone.loading import quiet
from roster.corpus.sentence import Sentence
from roster.distant.matching.span_mentions import ScoredSpan
from roster.errors import ConfigError, ModelError, RosterError
from roster.model.hub import PREFIX, local_folder
from roster.model.reading import choose_device
from roster.safe_folder import check_folder

PIECE_WORDS = 128
"""Words that the model reads at once; it would cut longer texts off. No name across two pieces is found."""

THRESHOLD = 0.5
"""The least score of an entity, if none is set: GLiNER's own."""

Piece = tuple[int, int, str]
"""Number of the sentence, place of the piece in its text, text of the piece."""


class GlinerModel:
    """Annotates with a GLiNER model.

    Args:
        name: a folder, or a name on the Hugging Face hub.
        types: what the model is asked for, in words: `person`, `chemical compound`.
        threshold: the least score of an entity.
        batch_size: texts in a batch.
        device: `auto`, `cpu` or `cuda`.

    Raises:
        RosterError: the package gliner is not installed.
        ConfigError: no types are given.
        ModelError: the model cannot be loaded.
    """

    def __init__(
        self,
        name: str,
        types: Sequence[str],
        threshold: float = THRESHOLD,
        batch_size: int = 32,
        device: str = "auto",
    ):
        try:
            from gliner import GLiNER
        except ImportError as error:
            raise RosterError(
                'a GLiNER model needs the package gliner: pip install "roster-ner[gliner]"'
            ) from error
        if not types:
            raise ConfigError(
                f"{name}: GLiNER finds the types that it is asked for; give them with --types person=PER "
                'city=LOC, or as types = ["person", "city"] under [[models]]'
            )
        where = choose_device(device)
        quiet()
        place = local_folder(name if Path(name).is_dir() else f"{PREFIX}{name}")
        check_folder(place)
        try:
            model: Any = GLiNER.from_pretrained(str(place), map_location=str(where))
        except Exception as error:  # the hub client, torch and gliner raise errors of many kinds
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(f"cannot load the GLiNER model {name}: {reason[:300]}") from error
        self._model = model.to(where).eval()
        self._types, self._threshold, self._size = list(types), threshold, batch_size

    def __call__(self, sentences: Sequence[Sentence]) -> Iterator[list[ScoredSpan]]:
        """The entities of each sentence whose score is not below the threshold."""
        found: list[list[ScoredSpan]] = [[] for _ in sentences]
        pieces = list(_pieces(sentences))
        for first in range(0, len(pieces), self._size):
            batch = pieces[first : first + self._size]
            answers = self._model.inference(
                [text for _, _, text in batch], self._types, threshold=self._threshold, batch_size=self._size
            )
            for (number, at, _), entities in zip(batch, answers, strict=True):
                found[number] += [
                    ScoredSpan(at + one["start"], at + one["end"], one["label"], float(one["score"]))
                    for one in entities
                ]
        yield from found


def _pieces(sentences: Sequence[Sentence]) -> Iterator[Piece]:
    """The texts of all sentences, each in as many pieces as it needs."""
    for number, sentence in enumerate(sentences):
        for first in range(0, len(sentence), PIECE_WORDS):
            words = sentence.offsets[first : first + PIECE_WORDS]
            yield number, words[0][0], sentence.text[words[0][0] : words[-1][1]]
