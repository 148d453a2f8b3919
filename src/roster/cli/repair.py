"""`roster repair`"""

from __future__ import annotations

import argparse
import json

HELP = """\
Rounds of audit, labelling and training without a person. Each round audits the run, labels its text from the
same sources with the sure changes of the audit's patch, and trains on that as RUN was trained. It ends early
where an audit has no such change, or the run has learned too little. The same command continues an
interrupted repair; a larger --rounds adds rounds to a finished one. Writes into the folder OUT:

  model/      the model of the last run: roster predict OUT
  audit/      its audit, with the changes that are left for a person to check
  round-1/    audit, changes (repair.tsv), data set and run of the first round; and so on
  rounds.json labels, estimates and scores of each round

One round changed the F1 of the model by -.001 to +.024 on five test sets, by .009 on average; more rounds
were not measured.
"""
EXAMPLE = "roster repair runs/news -o runs/news-repaired"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="RUN", help="run folder of roster train, on a data set of roster label"
    )
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="folder to write or continue")
    parser.add_argument("--rounds", metavar="N", type=int, default=1, help="number of rounds (default: 1)")
    parser.add_argument("--data", metavar="DATASET", help="the data set of the run, if it has moved")
    parser.add_argument("--json", action="store_true", help="print the rounds as one JSON object")


def run(args: argparse.Namespace) -> int:
    from roster.api.repair import repair
    from roster.log import LOGGER

    found = repair(args.folder, args.output, args.rounds, data=args.data)
    print(json.dumps(found.as_dict(), indent=2, ensure_ascii=False) if args.json else f"\n{found.text()}")
    if found.stopped:
        LOGGER.warning(found.stopped)
    LOGGER.info(f"\nmodel: {found.model}   run: {found.run}   audit: {found.audit}")
    LOGGER.info(f"Next: roster predict {found.folder} FILE")
    return 0
