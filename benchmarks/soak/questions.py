"""Requests with the answers that the model alone gives to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from roster.infer.recogniser import Entity, Recogniser

TEXTS = 60
"""Texts of which requests are made."""
SCORE = 1.5e-4
"""Scores have four digits, and the last one depends on the batch."""
THRESHOLDS = (0.0, 0.3, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Question:
    """The body of a request and the spans of each of its texts."""

    body: bytes
    expected: list[list[dict[str, Any]]]

    def wrong(self, answer: dict[str, Any]) -> str:
        """What is wrong with an answer; empty if it is right."""
        found = [one["spans"] for one in answer["results"]]
        if len(found) != len(self.expected):
            return f"{len(found)} results for {len(self.expected)} texts"
        for ours, alone in zip(found, self.expected, strict=True):
            if [_place(one) for one in ours] != [_place(one) for one in alone]:
                return f"spans {ours}, not {alone}"
            if any(abs(a["score"] - b["score"]) > SCORE for a, b in zip(ours, alone, strict=True)):
                return f"scores {ours}, not {alone}"
        return ""


class Questions:
    """Draws requests.

    Args:
        model: the model that is served, loaded a second time.
        lines: sentences; a text has one to five of them.
        seed: of the texts.
    """

    def __init__(self, model: Recogniser, lines: Sequence[str], seed: int = 0):
        draw = Random(seed)
        self.types = list(model.types)
        self.texts = ["", "\n", "😀 " + lines[0]]
        while len(self.texts) < TEXTS:
            start = draw.randrange(len(lines))
            self.texts.append(draw.choice(" \n").join(lines[start : start + draw.randint(1, 5)]))
        self.entities: list[list[Entity]] = [list(model(text)) for text in self.texts]
        scores = [one.score for found in self.entities for one in found]
        # A score at the threshold could be on either side of it, in its last digit.
        self.thresholds = [t for t in THRESHOLDS if all(abs(t - score) > SCORE for score in scores)] or [0.0]

    def draw(self, draw: Random, padding: int = 0) -> Question:
        """A request with one or several texts, and with options or without.

        Args:
            draw: where it is drawn from.
            padding: white space in the body that means nothing.
        """
        chosen = draw.choices(range(len(self.texts)), k=draw.choice((1, 1, 1, 2, 4)))
        body: dict[str, Any] = {"texts": [self.texts[i] for i in chosen]}
        if len(chosen) == 1 and draw.random() < 0.7:
            body = {"text": self.texts[chosen[0]]}
        threshold, wide, types = 0.0, False, self.types
        if draw.random() < 0.3:
            body["threshold"] = threshold = draw.choice(self.thresholds)
        if draw.random() < 0.2 and self.types:
            body["types"] = types = draw.sample(self.types, draw.randint(1, len(self.types)))
        if draw.random() < 0.2:
            body["offsets"], wide = "utf16", True
        expected = [_spans(self.texts[i], self.entities[i], threshold, types, wide) for i in chosen]
        return Question(b" " * padding + json.dumps(body).encode(), expected)

    def each(self) -> list[Question]:
        """One request for each text."""
        return [
            Question(json.dumps({"text": text}).encode(), [_spans(text, found, 0.0, self.types, False)])
            for text, found in zip(self.texts, self.entities, strict=True)
        ]


def _spans(
    text: str, found: Sequence[Entity], threshold: float, types: Sequence[str], wide: bool
) -> list[dict[str, Any]]:
    spans = [one.as_dict() for one in found if one.score >= threshold and one.label in types]
    if wide:
        for span in spans:
            span.update({end: len(text[: span[end]].encode("utf-16-le")) // 2 for end in ("start", "end")})
    return spans


def _place(span: dict[str, Any]) -> tuple[Any, ...]:
    return span["text"], span["label"], span["start"], span["end"]
