"""`roster demo`"""

from __future__ import annotations

import argparse

HELP = """\
The whole chain on the bundled sample of news sentences: a dictionary labels them, plain fine-tuning
and RoSTER learn from those labels, and both are scored, with the dictionary itself, on sentences with
gold labels. Takes under 8 minutes on two CPU cores; an interrupted demo goes on where it stopped.
"""
EXAMPLE = "roster demo -o demo"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", default="demo", help="where to write (default: demo)"
    )
    parser.add_argument("--seed", type=int, default=30, help="random seed (default: 30)")


def run(args: argparse.Namespace) -> int:
    from roster.demo import marked, run_demo, table

    demo = run_demo(args.output, seed=args.seed)
    print(f"\n{table(demo.scores)}\n\nWhere RoSTER corrected the dictionary it learned from:")
    for c in demo.corrected[:5]:
        print(f"\n  dictionary  {marked(c.distant)}\n  RoSTER      {marked(c.found)}")
    run = f"{demo.folder}/roster-seed-{args.seed}"
    print(f"\nScores: {demo.folder}/results.json   examples: {demo.folder}/report.md")
    print(f"Report of the run: {run}/report.html")
    print(f"Try it: echo 'Your own sentence.' | roster predict {run}")
    return 0
