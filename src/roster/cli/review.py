"""`roster review`"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from roster.corpus.io import FORMATS
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.cli.keys import Keys
    from roster.reviewing.review import Review
    from roster.reviewing.session import Question

HELP = """\
How good is a model on a text? A person looks at as few sentences as possible; precision, recall and F1 follow
with confidence intervals. One key answers for one name:

  r (or Enter)  right
  t             wrong type (then the right one)
  b             wrong border (then first word, last word, type)
  n             not a name
  a             all right: this name, the rest of the sentence, and nothing is missing

After the names of a sentence: m adds a missing name (first word, last word, type); Enter: nothing (more) is
missing. At any time: u undo, s skip a sentence, q quit. Answers are saved as they are given, and the same
command goes on. The review ends when the interval of F1 is as narrow as --width.

REVIEW/gold.jsonl has the reviewed sentences, with weights, for `roster evaluate` and `roster train --gold`;
REVIEW/corrections.tsv what follows for the dictionary.
"""
EXAMPLE = "roster review runs/news news.txt -o review --width 0.03"
WIDTH = 0.03
ASK_NAME = "r right, t type, b border, n no name, a all right, u undo, s skip, q quit"
ASK_MISSING = "Are names missing? Enter no, m add one, u undo, s skip, q quit"
VERDICTS = {"r": "right", "\n": "right", " ": "right", "n": "no name", "a": "all right", "s": "skip"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL_OR_REVIEW", help="model folder, run folder, or a review to go on with"
    )
    parser.add_argument(
        "text",
        metavar="TEXT",
        nargs="?",
        help="file or folder of any format, to begin a review (default: the training text of a run folder)",
    )
    parser.add_argument("-o", "--output", metavar="REVIEW",
                        help="folder of the review (default for a run folder: RUN/review)")  # fmt: skip
    parser.add_argument("--width", metavar="W", type=float, default=WIDTH,
                        help=f"end when F1 is known to plus or minus W (default: {WIDTH})")  # fmt: skip
    parser.add_argument("--confidence", metavar="P", type=float, default=0.95,
                        help="probability that an interval holds the true value (default: 0.95)")  # fmt: skip
    parser.add_argument("--status", action="store_true", help="print the estimates, ask nothing")
    parser.add_argument(
        "--json", action="store_true", help="print the estimates as one JSON object, ask nothing"
    )
    parser.add_argument("--sentences", metavar="N", type=int, default=20000,
                        help="draw from a random part of a longer text (default: 20000)")  # fmt: skip
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the order of the questions")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of TEXT, if not recognised: {', '.join(FORMATS)}")  # fmt: skip
    parser.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as test")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ...")


def run(args: argparse.Namespace) -> int:
    from roster.api.review import open_review, start_review, training_text

    if not 0 < args.width < 1:
        raise ConfigError(f"--width must be between 0 and 1, such as 0.03, not {args.width:g}")
    if not 0.5 <= args.confidence < 1:
        raise ConfigError(f"--confidence must be at least 0.5 and less than 1, not {args.confidence:g}")
    text, split, output = args.text, args.split, args.output
    if text is None and (known := training_text(args.model)) is not None:
        text, split, output = known, split or "train", output or str(Path(args.model) / "review")
    if text is None:
        if output:
            raise ConfigError("a review needs a text: roster review MODEL TEXT -o REVIEW")
        opened = open_review(args.model)
    else:
        if not output:
            raise ConfigError("give the folder of the review: -o REVIEW")
        opened = start_review(args.model, text, output, format=args.format, split=split,
                              sentences=args.sentences, seed=args.seed, device=args.device)  # fmt: skip
    with opened as review:
        if not (args.status or args.json):
            terminal = Terminal(review, args.width, args.confidence)
            with terminal.keys:
                terminal.run()
        status = review.status(args.confidence)
    if args.json:
        print(json.dumps(status, indent=2, ensure_ascii=False))
        return 0
    from roster.reviewing.review import CORRECTIONS, GOLD
    from roster.reviewing.screen import summary

    print(summary(status))
    if status["sentences"]:
        print(f"written: {Path(review.folder, GOLD)}, {Path(review.folder, CORRECTIONS)}")
    return 0


class Terminal:
    """Asks the questions of a review on standard output and takes the answers from standard input."""

    def __init__(self, review: Review, width: float, confidence: float):
        from roster.cli.keys import standard

        self.review, self.width, self.confidence = review, width, confidence
        self.keys: Keys = standard(lambda text: print(text, end="", flush=True))
        self.terminal = sys.stdout.isatty()
        self.colour = self.terminal and "NO_COLOR" not in os.environ

    def run(self) -> None:
        """Asks until the interval is narrow, the text ends, the input ends or the person quits."""
        from roster.reviewing.screen import dimmed, marked

        shown = -1
        go_on = self.review.session.narrow(self.width, self.confidence)
        if go_on:
            print(f"F1 is known to ± {self.width:g} already; what follows makes the interval narrower still")
        while (question := self.review.next()) is not None:
            if question.fresh and not go_on and self.review.session.narrow(self.width, self.confidence):
                print(f"F1 is known to ± {self.width:g}")
                return
            if question.number != shown:
                print(dimmed(f"\nsentence {len(self.review.session.closed()) + 1}", self.colour))
                shown = question.number
            self._print(marked(question, self.colour))
            ask = ASK_MISSING if question.mention is None else ASK_NAME
            print(dimmed(f"{ask}: ", self.colour), end="", flush=True)
            answered = self.review.session.answered
            if not self._take(question):
                print()
                return
            left = self.review.next()
            if self.review.session.answered != answered and (left is None or left.fresh):
                self._show_estimate()  # it rests on whole sentences

    def _print(self, text: str, dim: bool = False) -> None:
        """Lines of a terminal break between words."""
        from roster.reviewing.screen import dimmed, wrapped

        lines = wrapped(text, shutil.get_terminal_size().columns if self.terminal else None)
        print(dimmed(lines, self.colour and dim))

    def _show_estimate(self) -> None:
        from roster.reviewing.screen import estimate_lines

        session = self.review.session
        scores = session.estimate(confidence=self.confidence)
        left = session.answers_left(self.width, self.confidence)
        self._print(estimate_lines(scores, session.answered, self.width, left), dim=True)

    def _take(self, question: Question) -> bool:
        """One key and what follows from it; False to quit."""
        from roster.corpus.sentence import Span
        from roster.reviewing.answers import AnswerError
        from roster.reviewing.screen import dimmed, numbered, parse_span, parse_type, type_list

        key = self.keys.key()
        if key in ("", "q"):
            return False
        if self.keys.single:
            print("" if key == "\n" else key if key.isprintable() else "")
        key = key.lower() if key.isalpha() else key
        types, span = self.review.types, question.span
        try:
            if key == "u":
                if not self.review.undo():
                    print("there is nothing to undo")
            elif key == "t" and span is not None:
                text = self.keys.line(dimmed(f"type ({type_list(types)}): ", self.colour))
                if text is None:
                    return False
                self.review.answer("type", Span(span.start, span.end, parse_type(text, types)))
            elif key in ("b", "m") and (key == "m") == (span is None):
                if not self.keys.pending:
                    self._print(numbered(question.sentence), dim=True)
                prompt = f"first word, last word, type ({type_list(types)}): "
                text = self.keys.line(dimmed(prompt, self.colour))
                if text is None:
                    return False
                name = parse_span(text, question.sentence, types, None if span is None else span.label)
                self.review.answer("missing" if span is None else "border", name)
            elif span is None and key in ("\n", " ", "d", "a"):
                self.review.answer("done")
            elif key in VERDICTS and (span is not None or key == "s"):
                self.review.answer(VERDICTS[key])  # type: ignore[arg-type]
            else:
                print("this key has no meaning here")
        except (AnswerError, ValueError) as error:
            print(error)
        return True
