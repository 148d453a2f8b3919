"""A process that serves one system until it is stopped: `main("ours", folder)`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.prediction.systems import BATCH
from roster.corpus.sentence import Sentence
from roster.infer.recogniser import Entity
from roster.serving.auth import Tokens
from roster.serving.logs import json_log
from roster.serving.models import ServedModel, load_models
from roster.serving.server import listen, serve
from roster.serving.settings import Limits

NAME = "model"


@dataclass(frozen=True)
class Labelled:
    entities: list[Entity]


def ours(folder: str) -> ServedModel:
    """Our recogniser, as `roster serve` loads it."""
    return load_models({NAME: folder})[NAME]


def pipeline(folder: str) -> ServedModel:
    """The token classification pipeline of transformers with our weights, given the sentences of a batch."""
    from pathlib import Path

    from transformers import AutoTokenizer
    from transformers import pipeline as transformers_pipeline

    from benchmarks.prediction.token_classifier import token_classifier
    from roster.model.folder import inner_model, read_facts

    inner = Path(inner_model(folder))
    pipe = transformers_pipeline(
        "token-classification",
        model=token_classifier(inner),
        tokenizer=AutoTokenizer.from_pretrained(inner),
        aggregation_strategy="first",
        device="cpu",
    )

    def find(sentences: list[Sentence]) -> Iterator[Labelled]:
        full = [sentence for sentence in sentences if sentence.words]
        texts = [one.text[one.offsets[0][0] : one.offsets[-1][1]] for one in full]
        found = iter(pipe(texts, batch_size=BATCH) if texts else [])
        for sentence in sentences:
            if not sentence.words:
                yield Labelled([])
                continue
            first = sentence.offsets[0][0]
            yield Labelled([
                Entity(e["word"], e["entity_group"], first + e["start"], first + e["end"], float(e["score"]))
                for e in next(found)
            ])  # fmt: skip

    list(find([Sentence.from_words(["Anna"])]))
    return ServedModel(read_facts(inner).types, find)


SYSTEMS = {"ours": ours, "pipeline": pipeline}


def main(system: str, folder: str) -> None:
    """Serves until SIGTERM; the first line of standard output has the address, as with `roster serve`."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    models = {NAME: SYSTEMS[system](folder)}
    serve(models, listen("127.0.0.1", 0), limits=Limits(), tokens=Tokens([]), log=json_log(sys.stdout))
