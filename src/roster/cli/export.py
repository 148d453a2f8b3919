"""`roster export`"""

from __future__ import annotations

import argparse
import sys

from roster.corpus.io import FORMATS

HELP = """\
Write a model in a folder that predict and evaluate take like any other. As ONNX, ONNX Runtime reads
it on the CPU, without torch. With --int8 its weights have eight bits: a quarter of the size, and twice
the speed or more. Finally both are compared: logits, classes, speed and, with --gold, scores. If the
float32 export gives other results than the model, nothing is written. --to transformers writes a token
classifier of the transformers library, with safetensors and a model card, for its pipelines and the hub.
"""
EXAMPLE = "roster export runs/news/model --int8 -o news-int8 --gold test.conll"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model folder, or run folder")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder to write")
    parser.add_argument("--to", choices=("onnx", "transformers"), default="onnx", help="default: onnx")
    parser.add_argument("--language", metavar="CODE", help="such as en, for the card of a transformers model")
    parser.add_argument("--int8", action="store_true", help="weights in eight bits, a scale for each channel")
    parser.add_argument("--gold", metavar="FILE", help="labelled file to score both on")
    parser.add_argument("--format", metavar="NAME", choices=FORMATS,
                        help=f"format of FILE, if not recognised: {', '.join(FORMATS)}")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from roster.api.recognition import export
    from roster.infer.parity import ParityError
    from roster.log import LOGGER

    try:
        parity = export(args.model, args.output, int8=args.int8, gold=args.gold, format=args.format,
                        to=args.to, language=args.language)  # fmt: skip
    except ParityError as error:
        if args.debug:
            raise
        print(f"roster: {error}", file=sys.stderr)
        return 1
    print(parity.table())
    LOGGER.info(f"the export is in {args.output}; try: roster predict {args.output} FILE")
    return 0
