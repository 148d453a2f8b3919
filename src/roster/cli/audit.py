"""`roster audit`"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Literal

HELP = """\
Which distant labels, and which entries of the dictionary, are wrong or missing. No gold label is needed: the
members of a run judge the labels, each also those of the names it did not learn. Writes into
the folder AUDIT:

  audit.html    the claims as a page to sort, search and filter
  audit.jsonl   the same as data, one JSON object for each claim
  patch.tsv     repairs of the dictionary: check them, edit them, and give them to roster label --patch
"""
EXAMPLE = "roster audit runs/news -o audit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="RUN", help="run folder of roster train")
    parser.add_argument("-o", "--output", metavar="AUDIT", help="folder to write (default: RUN/audit)")
    parser.add_argument("--data", metavar="DATASET", help="the data set of the run, if it has moved")
    parser.add_argument("--reviewed", metavar="FILE", default=(),
                        help="training sentences that you have checked, such as review/gold.jsonl: narrower "
                        "estimates of precision and recall")  # fmt: skip
    parser.add_argument("--gold", metavar="FILE",
                        help="true labels of the training text: adds the share of true claims")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the claims as JSON lines, nothing else")


def run(args: argparse.Namespace) -> int:
    from roster.api.audit import audit
    from roster.auditing.audit import PAGE, PATCH, ROWS
    from roster.auditing.measure import AgainstGold
    from roster.auditing.summary import summary
    from roster.corpus.formats.lines import TEXT
    from roster.corpus.io import read
    from roster.log import LOGGER
    from roster.model.folder import AUDIT

    folder = Path(args.output or Path(args.folder) / AUDIT)
    found = audit(args.folder, args.data, folder, reviewed=args.reviewed)
    if args.json:
        for row in found.rows():
            print(json.dumps(row, ensure_ascii=False))
        return 0
    print(summary(found))
    if args.gold:
        beside: Literal["true"] | None = "true" if Path(args.gold).name.endswith(TEXT) else None
        gold = [one for one in read(args.gold, labels=beside) if one.words]
        print(f"\n{AgainstGold(found, gold).text()}")
    LOGGER.info(f"\npage: {folder / PAGE}   data: {folder / ROWS}   patch: {folder / PATCH}")
    if not found.reason:
        LOGGER.info(f"Next: look at {folder / PATCH}, then roster label ... --patch {folder / PATCH}")
    return 0
