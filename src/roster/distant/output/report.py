"""Counts of labels, of their entries and of refused matches, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from roster.corpus.sentence import Span
from roster.distant.compiling.compiler import ALLOW_LIST
from roster.distant.labelling.chunk_labeller import Labelled
from roster.distant.labelling.labeller import Labeller
from roster.distant.output.patch_report import patch_as_data, patch_lines, patch_warnings
from roster.distant.output.policy_report import (
    EXAMPLES,
    decision_lines,
    decisions_as_data,
    other_case_rows,
    refused_as_data,
    refused_totals,
    warnings,
)
from roster.distant.output.span_report import span_lines, span_warnings, spans_as_data
from roster.pages.inline import table
from roster.scores import Evaluation

KEPT = 1000

WHY = {
    "overlap": "overlap with a name that was taken",
    "untyped": "phrase of unknown type on the same words as a typed name",
    "priority": "a source of higher priority has another type",
    "votes": "more sources have another type",
    "ambiguous": "several types, nothing decides",
    "first": "several types, another comes first",
    "agreement": "fewer sources agree on the type than are required",
    "document": "several types, the labels of the document favour another",
}


@dataclass
class Report:
    """Counts over a corpus; `follow` takes them while the sentences are iterated over.

    `sentences` counts those with at least one word, which is what a training reads.
    """

    sentences: int = 0
    words: int = 0
    labelled_sentences: int = 0
    covered: int = 0
    unknown: int = 0
    labels: Counter[str] = field(default_factory=Counter)
    label_words: Counter[str] = field(default_factory=Counter)
    entries: Counter[tuple[str, str]] = field(default_factory=Counter)  # (entry, label)
    sources: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Any] = field(default_factory=dict)
    scores: Evaluation | None = None

    def follow(self, labelled: Iterable[Labelled]) -> Iterator[Labelled]:
        for one in labelled:
            self.sentences += bool(one.sentence.words)
            self.words += len(one.sentence)
            if one.sentence.spans:
                self.labelled_sentences += 1
            for label in one.labels:
                if not label.types:
                    self.unknown += 1
                    continue
                name, size = ",".join(label.types), label.end - label.start
                self.labels[name] += 1
                self.label_words[name] += size
                self.covered += size
                self.entries[label.evidence[0].shown, name] += 1
                for source in {m.source for m in label.evidence}:
                    self.sources[source] += 1
            yield one

    def add(self, other: Report) -> None:
        """The counts of another part of the corpus."""
        self.sentences += other.sentences
        self.words += other.words
        self.labelled_sentences += other.labelled_sentences
        self.covered += other.covered
        self.unknown += other.unknown
        self.labels.update(other.labels)
        self.label_words.update(other.label_words)
        self.entries.update(other.entries)
        self.sources.update(other.sources)

    def finish(self, labeller: Labeller, others: Mapping[str, Any] | None = None) -> None:
        """Adds what the labeller has counted and decided; `others` is from `labels_by_case`."""
        refused, dead = labeller.refused_matches, Counter[str]()
        for lexicon in labeller.lexicons:
            dead.update(lexicon.dead_counts())
        entries = sum(len(lexicon) for lexicon in labeller.lexicons)
        dropped: dict[str, dict[str, int]] = {}
        for (reason, label), count in sorted(refused.dropped.items()):
            dropped.setdefault(reason, {})[label or "(no type)"] = count
        self.facts = {
            "entries": entries,
            "dead_entries": dict(dead),
            "broken_lines": sum(lexicon.broken[0] for lexicon in labeller.lexicons[:1]),
            "first_broken_lines": [line for lexicon in labeller.lexicons[:1] for line in lexicon.broken[1]],
            "dropped": dropped,
            "dropped_examples": {reason: refused.examples_of(reason, EXAMPLES) for reason in dropped},
            "refused": refused_as_data(refused),
            "decisions": decisions_as_data(labeller.decisions, labeller.settings.policies),
            "other_policies": dict(others or {}),
            "warnings": warnings(labeller, self.labels),
            "ambiguous": [
                {"name": name, "types": list(types), "count": count}
                for (name, types), count in _most(refused.ambiguous, KEPT)
            ],
        }
        if labeller.span_sources:
            self.facts["span_sources"] = spans_as_data(labeller, self.sources)
            self.facts["warnings"] += span_warnings(labeller)
        if labeller.settings.patch:
            self.facts["patch"] = patch_as_data(labeller)
            self.facts["warnings"] += patch_warnings(labeller, self.facts["patch"])

    @property
    def warnings(self) -> list[str]:
        return list(self.facts.get("warnings", ()))

    def as_dict(self) -> dict[str, Any]:
        return {
            "sentences": self.sentences,
            "words": self.words,
            "labelled_sentences": self.labelled_sentences,
            "covered_words": self.covered,
            "unknown_phrases": self.unknown,
            "types": {
                name: {"labels": count, "words": self.label_words[name]} for name, count in _most(self.labels)
            },
            "sources": dict(_most(self.sources)),
            "top_entries": [
                {"entry": entry, "label": label, "count": count}
                for (entry, label), count in _most(self.entries, KEPT)
            ],
            **self.facts,
            **({"gold": self.scores.as_dict()} if self.scores else {}),
        }

    def text(self) -> str:
        """A page for a terminal."""
        share = self.covered / self.words if self.words else 0
        lines = [
            f"{self.words:,} words in {self.sentences:,} sentences; {sum(self.labels.values()):,} labels "
            f"in {self.labelled_sentences:,} sentences cover {share:.1%} of the words",
            "",
            *_table(
                ("type", "labels", "names", "words", "most frequent"),
                [self._row(name, count) for name, count in _most(self.labels)],
            ),
        ]
        if self.unknown:
            lines += ["", f"{self.unknown:,} phrases of unknown type (neither an entity nor clearly none)"]
        if "span_sources" in self.facts:
            lines += span_lines(self.facts["span_sources"])
        if "patch" in self.facts:
            lines += patch_lines(self.facts["patch"])
        lines += decision_lines(self.facts.get("decisions", {}))
        lines += self._not_labelled()
        lines += self._others()
        if self.scores is not None:
            lines += ["", "Against the gold labels:", "", self.scores.table()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The labels of each type as a table, for notebooks."""
        rows = [self._row(name, count) for name, count in _most(self.labels)]
        counts = (
            f"{self.labels.total():,} labels in {self.labelled_sentences:,} of {self.sentences:,} sentences"
        )
        return table(["type", "labels", "entries", "words", "most frequent"], rows, counts)

    def _row(self, name: str, count: int) -> tuple[str, ...]:
        names = [(entry, n) for (entry, label), n in _most(self.entries) if label == name]
        top = ", ".join(f"{entry} {n:,}" for entry, n in names[:3])
        return name, f"{count:,}", f"{len(names):,}", f"{self.label_words[name]:,}", top

    def _not_labelled(self) -> list[str]:
        lines: list[str] = []
        ambiguous = self.facts.get("ambiguous", [])
        if ambiguous:
            top = ", ".join(f"{x['name']} ({' or '.join(x['types'])}) {x['count']:,}" for x in ambiguous[:5])
            lines += ["", f"Ambiguous, most frequent first: {top}"]
        examples = self.facts.get("dropped_examples", {})
        rows = [
            (sum(by_label.values()), WHY[reason], examples[reason])
            for reason, by_label in self.facts.get("dropped", {}).items()
        ]
        rows += refused_totals(self.facts.get("refused", ()))
        if rows:
            lines += ["", "Matches that became no label:"]
            for count, why, names in sorted(rows, key=lambda row: (-row[0], row[1])):
                lines.append(f"  {count:>9,}  {why}: {', '.join(names)}")
        if self.facts.get("broken_lines"):
            lines += ["", f"{self.facts['broken_lines']:,} broken lines were skipped; the first: "]
            lines += [f"  {line}" for line in self.facts["first_broken_lines"][:3]]
        dead = self.facts.get("dead_entries", {})
        if dead:
            lines += ["", f"Of {self.facts['entries']:,} entries, {sum(dead.values()):,} can match nothing:"]
            lines += [f"  {count:>9,}  {why}" for why, count in sorted(dead.items(), key=lambda row: -row[1])]
        return lines

    def _others(self) -> list[str]:
        others = self.facts.get("other_policies", {})
        if len(others.get("labels", ())) < 2:
            return []
        where = "" if others["words"] >= self.words else f" in the first {others['words']:,} words"
        return ["", f"Labels{where} if all types had one case policy:", "", *_table(*other_case_rows(others))]


def provenance(number: int, labelled: Labelled) -> list[dict[str, Any]]:
    """The labels of the `number`th sentence, each with the claims it rests on; JSON can hold them."""
    return [
        {
            "sentence": number,
            "start": label.start,
            "end": label.end,
            "text": labelled.sentence.span_text(Span(label.start, label.end, "")),
            "types": list(label.types),
            "evidence": [
                {
                    "source": m.source,
                    "entry": m.entry,
                    "kind": m.kind,
                    **({"line": m.line} if m.line else {}),
                    **({"priority": m.priority} if m.priority else {}),
                    **({} if m.score is None else {"score": m.score}),
                }
                for m in label.evidence
            ],
        }
        for label in labelled.labels
    ]


def dead_entries(labeller: Labeller) -> Iterator[tuple[str, str, str, int, str]]:
    """(surface, type, file, line, reason) of every entry that can match nothing."""
    for lexicon in labeller.lexicons:
        for entry, reason in lexicon.dead():
            if entry.source != ALLOW_LIST:
                yield entry.surface, entry.kind, entry.source, entry.line, reason


def _most(counts: Mapping[Any, int], most: int | None = None) -> list[tuple[Any, int]]:
    """The most frequent first; equally frequent ones in the order of their names."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0], cells[-1] = row[0].ljust(widths[0]), row[-1]
        lines.append("  ".join(cells).rstrip())
    return lines
