"""`roster benchmark main`, `ablation` and the other experiments: one command for each table or figure."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.cli.options import add_engine, positive
from roster.config import parse_override
from roster.errors import ConfigError
from roster.methods.request import PRESETS
from roster.progress import say_to_stderr

if TYPE_CHECKING:
    from roster.experiments.plan import Asked, Row
    from roster.experiments.runner import Outcome
    from roster.experiments.store import Results

SUMMARIES = {
    "main": "table of all methods by data set",
    "ablation": "RoSTER without GCE, without noise removal, without self-training",
    "ensemble": "mean and deviation with and without the ensemble, before self-training",
    "parameters": "F1 over q and tau: table and figure",
    "supervised": "fine-tuning on n gold sentences, and how many of them RoSTER is worth: table and figure",
    "augmentation": "self-training without augmentations, with a masked LM's, with other names: F1 by step",
    "cases": "sentences where the methods differ, coloured",
    "gold": "a few gold sentences beside distant labels: table and figure",
    "robustness": "data sets and label variants by method: means, worst variant, collapses, hold-out signal",
}
HELP = """\
{summary}.

Trains every point (data set, settings, seed) that is not in RESULTS yet, and prints the table. Finished
points are appended to RESULTS, a file of JSON lines. Run the same command again to resume an interrupted
experiment, even after kill -9. Exit code 3: the time limit was reached, points are missing.
"""
EXAMPLES = {
    "main": "roster benchmark main conll03/ wikigold/ --backbone roberta-base -o results.jsonl",
    "cases": "roster benchmark cases conll03/ --sentence 'Ada left Oslo.' -o results.jsonl",
    "robustness": "roster benchmark robustness conll03/ gaz-conll03/ wikigold/ --corpus gaz-conll03=conll03 "
    "-o results.jsonl",
}
MISSING = 3
"""Exit code if points are missing."""


class Kind:
    """The command of one experiment."""

    def __init__(self, name: str):
        self.name, self.SUMMARY = name, SUMMARIES[name]
        self.HELP = HELP.format(summary=self.SUMMARY[0].upper() + self.SUMMARY[1:])
        usual = f"roster benchmark {name} wikigold/ --backbone roberta-base --minutes 30 -o results.jsonl"
        self.EXAMPLE = EXAMPLES.get(name, usual)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        seeds = SEEDS.get(self.name, [30, 31, 32])
        parser.add_argument("data", metavar="DATA", nargs="+", help="data set, as for `roster train`")
        parser.add_argument(
            "-o", "--output", metavar="RESULTS", required=True, help="file of results; created, or continued"
        )
        parser.add_argument(
            "--backbone",
            metavar="NAME_OR_DIR",
            default="roster-small-en-2",
            help="encoder (default: bundled); not for methods with an encoder of their own",
        )
        parser.add_argument("--seeds", metavar="N", nargs="+", type=int, default=seeds,
                            help=f"a training with each (default: {' '.join(map(str, seeds))})")  # fmt: skip
        parser.add_argument(
            "--preset-for", metavar="DATA=PRESET", action="append", default=[],
            help="preset of a data set; by default settings are derived from it",
        )  # fmt: skip
        parser.add_argument("--set", metavar="A.B=VALUE", action="append", default=[], dest="overrides",
                            help="value of an option, for methods that have it; may be repeated")  # fmt: skip
        parser.add_argument(
            "--minutes", metavar="N", type=float, help="time limit; the same command continues"
        )
        parser.add_argument("--workers", metavar="N", type=int, default=1,
                            help="number of trainings in parallel, for a large GPU")  # fmt: skip
        add_engine(
            parser,
            "where trainings run: local, on this machine, or ray, on the GPUs or cores of a Ray cluster that "
            "reads the same files",
        )
        parser.add_argument("--names", metavar="SHARE", type=float, default=1.0,
                            help="keep the labels of this share of the names")  # fmt: skip
        parser.add_argument(
            "--draw",
            metavar="FOLDER",
            help="also write tables (Markdown, LaTeX) and figures (SVG, PNG) there",
        )
        for add in OPTIONS.get(self.name, ()):
            add(parser)
        parser.set_defaults(resumes=True)

    def run(self, args: argparse.Namespace) -> int:
        from roster.experiments.gallery import experiment

        asked = _asked(args)
        chosen = {name: getattr(args, name) for name in ROW_OPTIONS if getattr(args, name, None) is not None}
        if "corpora" in chosen:
            chosen["corpora"] = _corpora(chosen["corpora"])
        return run_experiment(self.name, args, experiment(self.name).rows(asked, **chosen))


def _methods(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods", metavar="NAME", nargs="+",
        help="methods of `roster train`, distant-match, or a method with the suffix -gold, which trains on "
        "gold labels (default: those of the paper that the data set has labels for)",
    )  # fmt: skip


def _sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", metavar="N", nargs="+", type=int, help="numbers of gold sentences")
    parser.add_argument(
        "--least-steps",
        metavar="N",
        type=int,
        help="minimum steps of fine-tuning on gold sentences (default: 600)",
    )


def _values(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--values", metavar="V", nargs="+", type=float, help="values of q and tau (default: .1 to .9)"
    )


def _points(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--points", metavar="N", type=int, help="number of points on the curve (default: 15)")


def _sentences(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", choices=("test", "valid", "train"), default="test",
                        help="split of the sentences; train also has distant labels")  # fmt: skip
    parser.add_argument("--sentence", metavar="TEXT", action="append", default=[],
                        help="also show this sentence; may be repeated")  # fmt: skip


def _variants(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--methods", metavar="NAME", nargs="+",
                        help="those of `roster train` (default: fine-tune roster)")  # fmt: skip
    parser.add_argument("--vary", metavar="DATA", nargs="*",
                        help="data sets to thin and shorten as well (default: the first)")  # fmt: skip
    parser.add_argument(
        "--names-kept", metavar="SHARE", nargs="*", type=float,
        help="shares of the distinct names that keep their labels (default: 0.5 0.2)",
    )  # fmt: skip
    parser.add_argument(
        "--first", metavar="N", nargs="*", type=int,
        help="numbers of sentences to which the data is shortened (default: 100 300 1000 3000)",
    )  # fmt: skip
    parser.add_argument(
        "--corpus", metavar="DATA=CORPUS", nargs="+", action="extend", dest="corpora",
        help="DATA is a variant of CORPUS, such as its texts with other labels; variants of one corpus count "
        "as one set (default: a data set is its own corpus)",
    )  # fmt: skip


OPTIONS: dict[str, Sequence[Callable[[argparse.ArgumentParser], None]]] = {
    "main": (_methods,),
    "cases": (_methods, _sentences),
    "supervised": (_sizes,),
    "gold": (_sizes,),
    "parameters": (_values,),
    "augmentation": (_points,),
    "robustness": (_variants,),
}
SEEDS = {"ensemble": [30, 31, 32, 33, 34], "cases": [30]}
ROW_OPTIONS = (
    "methods",
    "sizes",
    "least_steps",
    "values",
    "points",
    "names_kept",
    "first",
    "vary",
    "corpora",
)


def _corpora(texts: Sequence[str]) -> dict[str, str]:
    """
    >>> _corpora(["gaz-conll03=conll03"])
    {'gaz-conll03': 'conll03'}
    """
    corpora = {}
    for text in texts:
        data, _, corpus = text.partition("=")
        if not data or not corpus:
            raise ConfigError(f"--corpus {text}: expected DATA=CORPUS")
        corpora[data] = corpus
    return corpora


def _asked(args: argparse.Namespace) -> Asked:
    from roster.experiments.plan import Asked

    positive(args, "minutes", "workers", *(name for name in ("least_steps", "points") if hasattr(args, name)))
    if not 0 < args.names <= 1:
        raise ConfigError(f"--names must be more than 0 and at most 1, not {args.names:g}")
    presets = {}
    for text in args.preset_for:
        name, equals, preset = text.partition("=")
        if not equals or preset not in PRESETS:
            raise ConfigError(
                f"--preset-for {text}: expected DATA=PRESET; the presets are {', '.join(PRESETS)}"
            )
        presets[name] = preset
    overrides = tuple(map(parse_override, args.overrides))
    seeds = list(dict.fromkeys(args.seeds))
    asked = Asked(args.data, args.backbone, seeds, presets, overrides, args.names)
    asked.check()
    return asked


def run_experiment(name: str, args: argparse.Namespace, rows: Sequence[Row]) -> int:
    from roster.experiments.gallery import draw, save_all
    from roster.experiments.plan import planned
    from roster.experiments.runner import run
    from roster.experiments.store import Results
    from roster.methods.train import backbone_fingerprint

    # An error in a setting shows before data is read.
    configs = {row.point.encoder: row.point.config() for row in rows if row.point.trains}
    backbones = {encoder: backbone_fingerprint(config) for encoder, config in configs.items()}
    known = Results.read(args.output).points if Path(args.output).is_file() else ()
    plans = planned(rows, backbones, args.workers, known)
    results = Results.open(args.output)
    try:
        plan: dict[str, Any] = {"experiment": name, "rows": [one.as_dict() for one in plans]}
        results.add_plan(plan)
        outcome = run(
            plans,
            results,
            minutes=args.minutes,
            log=say_to_stderr,
            keep_models=name == "cases",
            workers=args.workers,
            **_started(args),
        )
        if name == "cases":
            _show_cases(args, results)
        else:
            drawing = draw(name, results, texts=False, log=say_to_stderr)
            print("\n".join(table.markdown() for table in drawing.tables), end="")
            if args.draw:
                save_all(results, args.draw, names=[name], texts=True, log=say_to_stderr)
    finally:
        results.close()
    return _end(outcome, args.output)


def _started(args: argparse.Namespace) -> dict[str, Any]:
    """What starts trainings. The clocks of other machines agree on the date only."""
    if args.address and args.engine != "ray":
        raise ConfigError("--address is of a Ray cluster; add --engine ray")
    if args.engine != "ray":
        return {}
    from roster.experiments.ray_tasks import RayTasks

    return {"start": RayTasks(args.address), "clock": time.time}


def _show_cases(args: argparse.Namespace, results: Results) -> None:
    from roster.experiments.cases import show, terminal
    from roster.experiments.drawing import measured
    from roster.experiments.gallery import write_all

    for shown in show(measured(results, "cases"), results, part=args.split, typed=args.sentence):
        print(terminal(shown.title, shown.cases, colour=sys.stdout.isatty()), end="")
        if args.draw:
            write_all(Path(args.draw), shown.texts())


def _end(outcome: Outcome, output: str) -> int:
    """Log the counts; return the exit code."""
    say_to_stderr(
        f"{outcome.trained} points trained, {outcome.known} were in {output}, "
        f"{len(outcome.missing)} are missing, {len(outcome.failed)} failed"
    )
    for name, message in outcome.failed:
        say_to_stderr(f"roster: failed: {name}: {message}")
    for name in outcome.missing:
        say_to_stderr(f"missing: {name}")
    if outcome.missing:
        say_to_stderr("the time limit was reached; run the same command to continue")
    return 2 if outcome.failed else MISSING if outcome.missing else 0
