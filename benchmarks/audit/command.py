"""`python -m benchmarks audit`"""

from __future__ import annotations

import argparse

SUMMARY = "how many claims of roster audit are true, beside cleanlab and random order"
HELP = """\
The claims of the audit of finished runs beside gold labels of the training text, of all its sentences or of
some: precision of the rankings, estimated and true quality of the labels by type, and how many changes of the
patch are right. Each SOURCE is a TOML file with paths beside it: run, data, gold (a file or a list); text, a
name that runs on the same text share; and source, the TOML file of `repair`, whose labels are made with and
without the patch. With --leave-one-out the free numbers of the audit are chosen on the other texts, and what
that gives is shown. Results are appended to the file -o, one JSON line each.
"""
EXAMPLE = "python -m benchmarks audit news.toml films.toml --leave-one-out -o audit.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("sources", metavar="SOURCE", nargs="+", help="TOML file of a run")
    parser.add_argument("--leave-one-out", action="store_true",
                        help="also choose the numbers of the audit on the other texts")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from benchmarks.audit.choice import choices
    from benchmarks.audit.measure import AuditReport, against_gold, records
    from benchmarks.audit.relabel import relabelled
    from benchmarks.audit.source import read_source
    from benchmarks.options import output
    from roster.errors import ConfigError
    from roster.experiments.hardware import commit
    from roster.progress import say_to_stderr

    sources = [read_source(path) for path in args.sources]
    if args.leave_one_out and len({one.text for one in sources}) < 3:
        raise ConfigError("--leave-one-out needs runs on three texts or more")
    found = []
    for source in sources:
        say_to_stderr(f"{source.name}: audit")
        found.append((source, against_gold(source)))
    results = [record for source, one in found for record in records(source, one)]
    for source, one in found:
        if source.repair is not None:
            say_to_stderr(f"{source.name}: labels with and without the patch")
            results += relabelled(source, one)
    if args.leave_one_out:
        say_to_stderr("leaving out one text after the other")
        results += choices(found)
    return output(args, AuditReport({"commit": commit()}, tuple(results)), ())
