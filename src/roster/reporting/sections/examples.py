"""Sentences of the training text where the labels and the final model differ."""

from __future__ import annotations

from itertools import groupby

from roster.pages.document import text
from roster.reporting.evidence import ADDED, LEFT_OUT, OTHER_BORDERS, OTHER_TYPE, Difference, Findings
from roster.reporting.facts import RunFacts
from roster.reporting.html import Section, direction, marked, paragraph

TITLES = {
    ADDED: "The model finds an entity where there is no label",
    LEFT_OUT: "The model does not find a label",
    OTHER_TYPE: "The model has another type",
    OTHER_BORDERS: "The model has other boundaries",
}


def examples(facts: RunFacts, evidence: Findings) -> Section | None:
    if not facts.sentences:
        words = f"No examples: {facts.no_data}."
        return Section("examples", "Where labels and model differ", paragraph(words, "dim"))
    if not evidence.differences:
        words = f"Labels and model are the same in all {evidence.compared:,} sentences that were compared."
        return Section("examples", "Where labels and model differ", paragraph(words))
    parts = [
        paragraph(
            f"{len(evidence.differences)} examples, of all types and kinds by turns, from "
            f"{evidence.compared:,} sentences of the training text. Neither side is always right."
        )
    ]
    for kind, group in groupby(evidence.differences, key=lambda d: d.kind):
        parts.append(f"<h3>{text(TITLES[kind])}</h3>")
        parts += [_example(one, facts) for one in group]
    return Section("examples", "Where labels and model differ", "".join(parts))


def _example(one: Difference, facts: RunFacts) -> str:
    way = direction(one.labels.text)
    sides = [
        f'<dt>{name}</dt><dd dir="{way}">{marked(sentence, facts.types, one.start, one.end)}</dd>'
        for name, sentence in (("labels", one.labels), ("model", one.model))
    ]
    return f'<dl class="example">{"".join(sides)}</dl>'
