"""`roster kb`: builds and queries an embedded knowledge base, or queries a SPARQL endpoint."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from roster.distant.kb.base import Row
from roster.distant.kb.classes import BUNDLED, load_classes
from roster.distant.kb.dumps import FORMATS
from roster.distant.kb.extract import PAGE, extract
from roster.distant.kb.lookup import BATCH, Hit, items_of, open_backend
from roster.distant.kb.store import build
from roster.errors import RosterError

HELP = """Build a knowledge base from a dump; query it, or a SPARQL endpoint, for names and their types.

A class map lists the classes of each entity type. Two for Wikidata are built in: conll
(PER, LOC, ORG, MISC) and ontonotes; --classes takes a TOML file of your own."""
EXAMPLE = 'roster kb build latest-truthy.nt.bz2 -o wikidata.kb\n  roster kb query wikidata.kb "Lake Geneva"'

PLAIN = str.maketrans("\t\n\r", "   ")
WHERE = "store folder, or http(s) address of a SPARQL endpoint"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="action", title="actions", required=True)

    def action(name: str, summary: str, example: str) -> argparse.ArgumentParser:
        added = actions.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"Example:\n  {example}",
            formatter_class=parser.formatter_class,
        )
        # SUPPRESS: a --debug before the action must not be undone here.
        added.add_argument(
            "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
        )
        known = ", ".join(BUNDLED)
        added.add_argument(
            "--classes", metavar="MAP", default="conll", help=f"{known}, or a TOML file (default: conll)"
        )
        return added

    sub = action("build", "make a store from dumps of a knowledge base",
                 "roster kb build latest-all.json.gz -o wikidata.kb")  # fmt: skip
    sub.add_argument("files", metavar="FILE", nargs="+", help=f"dump: {FORMATS}; .json is Wikidata's")
    sub.add_argument("-o", "--output", metavar="STORE", required=True, help="folder to create")
    sub.add_argument(
        "--all",
        action="store_true",
        dest="keep_all",
        help="keep all of an RDF dump, not only names and classes",
    )
    sub.add_argument("--skip-broken", action="store_true", help="count broken lines instead of stopping")
    sub.add_argument("--force", action="store_true", help="replace a store that is there")

    sub = action("query", "items and types of names, or the answer to any SELECT",
                 'roster kb query wikidata.kb "Lake Geneva" Montreux')  # fmt: skip
    sub.add_argument("source", metavar="STORE", help=WHERE)
    sub.add_argument("names", metavar="NAME", nargs="*", help="name to look up, in its exact case")
    sub.add_argument("--any-case", action="store_true", help="also try other case where a name has no type")
    sub.add_argument("--sparql", metavar="QUERY", help="a SELECT query, or - to read it from standard input")
    sub.add_argument("--json", action="store_true", help="print JSON lines")
    _endpoint_options(sub)

    sub = action("extract", "a dictionary of all names of all instances of the class map",
                 "roster kb extract wikidata.kb -o names.tsv.gz")  # fmt: skip
    sub.add_argument("source", metavar="STORE", help=WHERE)
    sub.add_argument(
        "-o", "--output", metavar="FILE", required=True,
        help="names.tsv or names.tsv.gz; FILE.work beside it keeps the finished pages",
    )  # fmt: skip
    sub.add_argument("--page", metavar="N", type=int, default=PAGE,
                     help=f"items between two saved points (default: {PAGE})")  # fmt: skip
    _endpoint_options(sub)


def _endpoint_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--batch", metavar="N", type=int, default=BATCH,
                     help=f"names, items or classes in one query (default: {BATCH})")  # fmt: skip
    sub.add_argument("--cache", metavar="DIR", type=Path, help="folder to keep the answers of an endpoint in")


def run(args: argparse.Namespace) -> int:
    return {"build": _build, "query": _query, "extract": _extract}[args.action](args)


def _build(args: argparse.Namespace) -> int:
    built = build(
        args.files, args.output, load_classes(args.classes),
        keep_all=args.keep_all, skip_broken=args.skip_broken, force=args.force,
    )  # fmt: skip
    print(
        f"{args.output}: {built.items} items, {built.labels} labels, {built.aliases} aliases, "
        f"{built.triples} triples in {built.seconds:.1f} s"
    )
    if built.broken:
        print(f"{built.broken} broken lines were skipped, first {built.first_broken}", file=sys.stderr)
    return 0


def _extract(args: argparse.Namespace) -> int:
    with open_backend(args.source, cache=args.cache) as backend:
        done = extract(backend, args.output, args.classes, page=args.page, batch=args.batch)
    resumed = f", {done.resumed} of them from an earlier run" if done.resumed else ""
    print(f"wrote {done.names} names of {done.pages} pages{resumed} to {args.output}", file=sys.stderr)
    return 0


def _query(args: argparse.Namespace) -> int:
    if bool(args.names) == (args.sparql is not None):
        raise RosterError("roster kb query: give either names or --sparql")
    with open_backend(args.source, cache=args.cache) as backend:
        if args.sparql is not None:
            query = sys.stdin.read() if args.sparql == "-" else args.sparql
            _print_rows(backend.select(query), args.json)
            return 0
        classes = load_classes(args.classes)
        found = items_of(backend, args.names, classes, batch=args.batch, case_variants=args.any_case)
    if args.json:
        for name, hits in found.items():
            items = [{"item": hit.item, "type": hit.type or None, "via": hit.via} for hit in hits]
            print(json.dumps({"name": name, "items": items}, ensure_ascii=False))
        return 0
    rows = [
        (name, hit.type or "-", classes.short(hit.item) or "-", hit.via or "-")
        for name, hits in found.items()
        for hit in hits or (Hit("", "", ""),)
    ]
    _print_table([("name", "type", "item", "via"), *rows])
    return 0


def _print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _print_rows(rows: Iterable[Row], as_json: bool) -> None:
    """JSON lines as they come, or a table with tabs, whose columns are known only when all rows are."""
    if as_json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    table = list(rows)
    header = list(dict.fromkeys(name for row in table for name in row))
    print("\t".join(header))
    for row in table:
        print("\t".join(row.get(name, "").translate(PLAIN) for name in header))
