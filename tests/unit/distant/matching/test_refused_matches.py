"""Counts and examples of what did not become a label."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roster.distant.compiling.compiler import compile_lexicon
from roster.distant.compiling.lexicon import Lexicon, Source
from roster.distant.matching.refused_matches import KEPT, PART, REFUSED, RefusedMatches
from roster.distant.policy.policies import Policies

NAMES = [f"Name{letter}" for letter in "ABCDEFGH"]


def compiled(folder: Path) -> Lexicon:
    path = folder / "refused.tsv"
    rows = [f"{name}\t{'PER' if i % 2 else 'LOC'}\n" for i, name in enumerate(NAMES)]
    path.write_text("surface\ttype\n" + "".join(rows))
    return compile_lexicon([Source(path)], Policies())


rows = st.lists(st.tuples(st.integers(0, len(NAMES) - 1), st.sampled_from(sorted(REFUSED))), max_size=60)


@given(rows)
@settings(max_examples=50, deadline=None)
def test_refused_matches_against_a_count_by_hand(
    tmp_path_factory: pytest.TempPathFactory, found: list[tuple[int, int]]
) -> None:
    lexicon = compiled(tmp_path_factory.getbasetemp())
    refused = RefusedMatches()
    refused.count_refused(lexicon, np.array([e for e, _ in found]), np.array([w for _, w in found], np.uint8))
    kind = {name: "PER" if i % 2 else "LOC" for i, name in enumerate(NAMES)}
    assert refused.refused == Counter((REFUSED[why], kind[NAMES[entry]]) for entry, why in found)
    by_hand = Counter((REFUSED[why], kind[NAMES[entry]], NAMES[entry]) for entry, why in found)
    assert refused.examples == by_hand  # fewer names than are kept


def test_only_the_most_frequent_examples_are_kept() -> None:
    refused = RefusedMatches()
    parts = Counter({("PER", f"n{i:02}"): 1 + i % 7 for i in range(20)})
    refused.count_parts(parts)
    assert refused.refused == {(PART, "PER"): sum(parts.values())}
    assert len(refused.examples) == KEPT
    assert refused.examples_of(PART, 3) == ["n06", "n13", "n05"]
    assert refused.examples_of(PART, 3, "LOC") == []


def test_parts_of_a_corpus_add_up() -> None:
    one, two = RefusedMatches(), RefusedMatches()
    one.count_parts(Counter({("PER", "a"): 2}))
    two.count_parts(Counter({("PER", "a"): 1, ("LOC", "b"): 5}))
    one.add(two)
    assert one.examples == {(PART, "PER", "a"): 3, (PART, "LOC", "b"): 5}
    assert one.refused_by("PER") == [(PART, 3)]
