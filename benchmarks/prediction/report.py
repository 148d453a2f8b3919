"""The results of the prediction benchmark, as a table."""

from __future__ import annotations

from typing import Any

from benchmarks.report import Report, Row, cell, machine_line, note, table

BASES = ("pipeline", "spacy", "spacy-pipe")
"""Systems that the others are compared with, as ratios."""
NOTES = """\
words/s: from sentences of words (pipeline: texts) to entities, with tokenisation into sub-words, without
reading the file and loading, after a warm-up. x: speed relative to that system, run by run.
ours: roster.load(MODEL).find(sentences). pipeline: transformers' token classification with the encoder and
heads of the first MODEL that it supports, one text at a time; pipeline-32: in batches of 32.
spacy: the entity recogniser alone, on the same words, one sentence at a time; spacy-pipe: as a stream.
memory: peak memory of the process, Python and all libraries included."""


class PredictionReport(Report):
    """Report of the prediction benchmark."""

    def name(self, result: dict[str, Any]) -> str:
        return str(result["name"])

    def text(self) -> str:
        load = self.conditions["workload"]
        speed = [result for result in self.results if result["measure"] == "speed"]
        growth = [result for result in self.results if result["measure"] == "growth"]
        columns = ["words/s", *(f"x {base}" for base in BASES), "memory MiB", "load s", "entities"]
        scored = any(result["scores"] for result in speed)
        measured = (result for result in speed if result["seconds"])
        spacy = dict.fromkeys(result["model"] for result in measured if "spacy" in result["system"])
        rows: list[Row] = [(["", *columns, *(["F1"] if scored else [])], "")]
        lines = table([*rows, *(self._row(result, scored) for result in speed)])
        if growth:
            head: Row = ["text read", "MB", "seconds", "words/s", "memory MiB"], ""
            lines += ["", *table([head, *map(self._growth_row, growth)])]
        return "\n".join(
            [
                f"{load['words']:,} words in {load['sentences']:,} sentences ({load['text']})",
                machine_line(self.conditions),
                "",
                *lines,
                "",
                NOTES,
                *(f"spaCy's recogniser is {name}." for name in spacy),
            ]
        )

    def _row(self, result: dict[str, Any], scored: bool) -> Row:
        name = f"  {result['name']}"
        if result["seconds"] is None:
            return [name], note(result)
        f1 = f"{result['scores']['f1']:.4f}" if result["scores"] else "-"
        return [
            name,
            cell(result["words_per_second"]),
            *(cell(result["ratios"].get(base)) for base in BASES),
            cell(result["peak_memory"], 2**20, runs=False),
            cell(result["load_seconds"]),
            f"{result['entities']:,}",
            *([f1] if scored else []),
        ], note(result)

    def _growth_row(self, result: dict[str, Any]) -> Row:
        name = f"  {result['name']}"
        size = f"{result['megabytes']:g}"
        if result["seconds"] is None:
            return [name], f"{size} MB: {note(result)}"
        numbers = (cell(result[fact]) for fact in ("seconds", "words_per_second"))
        return [name, size, *numbers, cell(result["peak_memory"], 2**20)], note(result)
