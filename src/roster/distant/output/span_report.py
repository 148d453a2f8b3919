"""What annotations and models gave, how much of it became labels, and what may be wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roster.distant.labelling.labeller import Labeller
from roster.distant.span_sources import Annotations, Model, SpanSource

MOST_TYPES_SHOWN = 10
LEFT_OUT = {
    "below_least_score": "below the least score",
    "cut_words": "that cut words or go over the end of a sentence",
    "unwanted": "of types that are not wanted",
}


def spans_as_data(labeller: Labeller, labels: Mapping[str, int]) -> list[dict[str, Any]]:
    """For each source its counts, and how many labels rest on it; `labels` is by source."""
    settings = labeller.settings
    sources: list[Annotations | Model] = [*settings.annotations, *settings.models]
    return [
        {
            "source": one.name,
            "from": str(one.path) if isinstance(one, Annotations) else one.model,
            **labeller.span_sources.counts[one.name].as_dict(),
            "labels": labels.get(one.name, 0),
        }
        for one in sources
        if one.name in labeller.span_sources.counts
    ]


def span_lines(data: list[dict[str, Any]]) -> list[str]:
    """For a terminal: a line for each source, and one for what of it was left out."""
    lines = ["", "Annotations and models:"]
    for row in data:
        part = ""
        if row["covered"] < row["documents"]:
            part = f" in {row['covered']:,} of {row['documents']:,} documents"
        lines.append(
            f"  {row['source']}: {row['spans']:,} spans{part}; {row['labels']:,} labels rest on them"
        )
        left_out = [f"{row[key]:,} {why}" for key, why in LEFT_OUT.items() if row[key]]
        if left_out:
            lines.append(f"    left out: {', '.join(left_out)}")
    return lines


def span_warnings(labeller: Labeller) -> list[str]:
    """Warnings: spans that cut words, a least score without scores, documents and labels that others lack."""
    settings, messages = labeller.settings, []
    others = _labels_of_names(labeller)
    sources: list[SpanSource] = [*settings.annotations, *settings.models]
    for one in sources:
        counts = labeller.span_sources.counts.get(one.name)
        if counts is None:
            continue
        if counts.cut_words:
            messages.append(
                f"{one.name}: {counts.cut_words:,} of {counts.spans:,} spans begin or end inside a word of "
                "the corpus, or go over the end of a sentence, and give no label: "
                f"{', '.join(counts.cut_examples)}"
            )
        if one.least_score is not None and counts.spans and not counts.scored:
            messages.append(f"{one.name}: its spans have no scores, so its least score has no effect")
        if counts.covered < counts.documents:
            messages.append(
                f"{one.name}: it has {counts.covered:,} of the {counts.documents:,} documents of the corpus "
                "and gives no label in the others"
            )
        if not counts.spans:
            messages.append(f"{one.name}: it has no span")
        unmapped = {kind for kind in counts.kinds if kind and settings.policies.label(kind) == kind}
        new = unmapped - others
        if others and new:
            shown = sorted(new)[:MOST_TYPES_SHOWN]
            messages.append(
                f"{one.name}: no other source has the types {', '.join(shown)}"
                f"{', ...' if len(new) > MOST_TYPES_SHOWN else ''}; if these are other words for "
                f"{', '.join(sorted(others)[:MOST_TYPES_SHOWN])}, map them: --types {shown[0]}=LABEL"
            )
    return messages


def _labels_of_names(labeller: Labeller) -> set[str]:
    """The labels that dictionaries, patterns and the knowledge base can give."""
    policies = labeller.settings.policies
    kinds = {kind for lexicon in labeller.lexicons for kind in lexicon.kinds} | set(labeller.kb_types)
    labels = {policies.label(kind) or "" for kind in kinds}
    return (labels | {pattern.label for pattern in labeller.settings.patterns}) - {""}
