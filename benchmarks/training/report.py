"""The results of the training benchmark, as tables."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from benchmarks.report import Report, Row, cell, machine_line, note, table

NOTES = """\
total: from reading the data to the saved model, with compilation, without imports and scoring (process:
from the start of Python to its end, with both). words/s: words of the corpus by total. memory: peak memory of
the process; GPU: peak memory that torch allocated. F1: of the saved model, if the data has gold labels. rest:
reading and tokenising the data, the time between the stages, and saving."""


class TrainingReport(Report):
    """Report of the training benchmark."""

    def name(self, result: dict[str, Any]) -> str:
        return str(result["engine"])

    def text(self) -> str:
        asked = self.conditions["workload"]
        lines = [
            f"{asked['data']}: {asked['method']} with {asked['backbone']}",
            machine_line(self.conditions),
        ]
        for _, group in groupby(self.results, key=lambda result: result["sentences"]):
            lines += ["", *self._size(list(group))]
        return "\n".join([*lines, "", NOTES])

    def _size(self, results: list[dict[str, Any]]) -> list[str]:
        """Two tables for one size: whole runs, and seconds by stage."""
        first = results[0]
        head = f"{first['sentences']:,} sentences"
        columns = ("total s", f"x {first['engine']}", "process s", "words/s", "memory MiB", "GPU MiB", "F1")
        rows: list[Row] = [([head, *columns], ""), *map(self._row, results)]
        stages = list(dict.fromkeys(stage for result in results for stage in result["stages"]))
        if not stages:
            return table(rows)
        parts: list[Row] = [(["seconds of", *stages], "")]
        for result in results:
            if result["stages"]:
                parts.append(
                    ([f"  {self.name(result)}", *(cell(result["stages"].get(s)) for s in stages)], "")
                )
        return [*table(rows), "", *table(parts)]

    def _row(self, result: dict[str, Any]) -> Row:
        name = f"  {self.name(result)}"
        if result["total_seconds"] is None:
            return [name], note(result)
        return [
            name,
            cell(result["total_seconds"]),
            cell(result["speed_up"]),
            cell(result["process_seconds"]),
            cell(result["words_per_second"]),
            cell(result["peak_memory"], 2**20, runs=False),
            cell(result["peak_gpu_memory"], 2**20, runs=False),
            cell(result["f1"]),
        ], note(result)
