"""The first pass of `roster label` over shards: what it has to know of the whole corpus."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roster.corpus.sentence import Sentence
from roster.distant.labelling.chunks import chunks
from roster.distant.labelling.kb_matcher import candidate_names
from roster.distant.settings import Candidates
from roster.shards.content import fetch
from roster.shards.engines.base import Engine
from roster.shards.plan import Plan, Shard


@dataclass(frozen=True)
class CandidatesOfShards:
    """The distinct names in a shard that a knowledge base is to be asked for."""

    plan: Plan
    rules: Candidates

    def open(self) -> CandidatesOfShards:
        return self

    def __call__(self, shard: Shard) -> list[str]:
        with tempfile.TemporaryDirectory(prefix="roster-shard-") as folder:
            sentences = fetch(self.plan, shard, Path(folder)).sentences("none")
            return list(
                dict.fromkeys(n for chunk in chunks(sentences) for n in candidate_names(chunk, self.rules))
            )


def all_candidates(plan: Plan, rules: Candidates, engine: Engine) -> list[str]:
    """The names in all shards, each once, in the order of the corpus: those of a single pass."""
    found = {shard.number: names for shard, names in engine.map(CandidatesOfShards(plan, rules), plan.shards)}
    return list(dict.fromkeys(name for number in sorted(found) for name in found[number]))


def sentences_of_plan(plan: Plan) -> Iterator[Sentence]:
    """The sentences of all shards in order, fetched one shard at a time."""
    for shard in plan.shards:
        with tempfile.TemporaryDirectory(prefix="roster-shard-") as folder:
            yield from fetch(plan, shard, Path(folder)).sentences("none")
