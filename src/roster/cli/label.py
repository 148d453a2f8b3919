"""`roster label`"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from roster.cli.options import add_shards, by_shards
from roster.corpus.io import FORMATS
from roster.corpus.tags import SCHEMES
from roster.distant.entries import DICTIONARY_FORMATS
from roster.distant.policy.policies import CASES
from roster.errors import ConfigError

if TYPE_CHECKING:
    from roster.distant.settings import Settings

HELP = """\
Distant labels: finds the names of dictionaries, patterns and a knowledge base in a corpus, and takes the
annotations of others and the predictions of models. DATASET is a folder that `roster train` takes
(train.jsonl, types.txt), or a file of any format. The source of each label and a report are written beside
the labels.

Names are matched by words. In which case a name may match is decided for each type, by how the dictionary
lists its names and how the text writes them: "Apple" the company is not found in "an apple a day", asthma is
found in any case. The report has what was decided, from which facts, and what other policies would give;
--case sets one for all types. Settings for each type go into a TOML file (--config).

With --engine or a URL, CORPUS is cut into shards, each of which is a file in DATASET and written once: the
same command goes on where it was interrupted.
"""
EXAMPLE = """\
roster label news.txt --dictionary people.tsv places.tsv -o data
  roster label abstracts.txt --dictionary mesh.tsv --gold dev.conll -o data
  roster label news.txt --dictionary people.tsv places.tsv --patch names.patch -o data
  roster label news.txt --kb wikidata.store --patterns DATE MONEY -o data
  roster label news.txt --dictionary people.tsv --annotations llm=labels.jsonl --least-score 0.5 -o data
  roster label news.txt --model en_core_web_sm runs/news --types GPE=LOC PERSON=PER -o data
  roster label 'news/*.jsonl' --dictionary people.tsv places.tsv -o data --engine ray"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("corpus", metavar="CORPUS", help="text to label: a file or folder of any format")
    parser.add_argument("-o", "--output", metavar="DATASET", required=True, help="folder or file to write")
    what = parser.add_argument_group("sources of labels")
    what.add_argument(
        "--dictionary",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="names and their types: TSV, CSV, JSON lines or AutoNER's, also gzipped",
    )
    what.add_argument(
        "--dictionary-format",
        metavar="NAME",
        choices=DICTIONARY_FORMATS,
        help=f"{', '.join(DICTIONARY_FORMATS)}, if it is not recognised",
    )
    what.add_argument(
        "--in-order",
        action="store_true",
        help="if dictionaries disagree on a name, use the type from the one given first",
    )
    what.add_argument(
        "--skip-broken", action="store_true", help="skip lines of a dictionary that cannot be read"
    )
    what.add_argument(
        "--patch",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="changes of the dictionaries, one on a line: add, remove or retype an entry, deny words a label",
    )
    what.add_argument(
        "--patterns",
        metavar="NAME",
        nargs="+",
        action="extend",
        default=[],
        help="bundled: DATE TIME MONEY PERCENT ORDINAL CARDINAL QUANTITY ORG PERSON",
    )
    what.add_argument(
        "--kb",
        metavar="STORE_OR_ENDPOINT",
        help="knowledge base: a folder made by `roster kb build`, or a SPARQL address",
    )
    what.add_argument(
        "--classes", metavar="FILE", help="types of the knowledge base: a TOML file, conll or ontonotes"
    )
    what.add_argument(
        "--candidates",
        metavar="BY",
        help="how phrases for the knowledge base are found: rules (default), or a spaCy pipeline",
    )
    what.add_argument(
        "--annotations",
        metavar="[NAME=]FILE",
        nargs="+",
        action="extend",
        default=[],
        help="the sentences of CORPUS with spans that somebody or something else made, in any format; NAME "
        "is what the report calls them",
    )
    what.add_argument(
        "--annotations-format",
        metavar="FORMAT",
        choices=FORMATS,
        help="format of the annotations, if not recognised",
    )
    what.add_argument(
        "--model",
        metavar="[NAME=]MODEL",
        nargs="+",
        action="extend",
        default=[],
        help="predict on CORPUS with a model folder of ours, a spaCy pipeline, a token classifier of "
        "transformers or GLiNER (a hub name with its kind: gliner:NAME)",
    )
    what.add_argument(
        "--least-score",
        metavar="[NAME=]X",
        nargs="+",
        action="extend",
        default=[],
        help="leave out spans with a lower score: of the source NAME, or of all annotations and models",
    )
    how = parser.add_argument_group("matching")
    how.add_argument(
        "--config", metavar="FILE", help="TOML file with these options, and policies for each type"
    )
    how.add_argument(
        "--case",
        choices=CASES,
        help="case policy for all types (default: auto, decided for each type by dictionary and text)",
    )
    how.add_argument(
        "--types",
        metavar="KIND=LABEL",
        nargs="+",
        action="extend",
        default=[],
        help="map types of the sources to labels: 'ORG.*=ORG'; an empty label drops a type: 'MISC.film='",
    )
    how.add_argument(
        "--ambiguous",
        choices=("drop", "all", "first", "document"),
        help="a name with several types: no label (default), all types, the first by alphabet, "
        "or that of the document's other labels",
    )
    how.add_argument(
        "--overlap",
        choices=("longest", "squares"),
        help="longest name first (default), or AutoNER's largest sum of squared lengths",
    )
    how.add_argument(
        "--agreement",
        type=int,
        metavar="N",
        help="label only what at least N different sources give the same type (default: 1)",
    )
    data = parser.add_argument_group("input and output")
    data.add_argument(
        "--gold", metavar="FILE", help="the same sentences with true labels: adds precision and recall"
    )
    data.add_argument(
        "--format",
        metavar="NAME",
        choices=FORMATS,
        help=f"format of CORPUS, if not recognised: {', '.join(FORMATS)}",
    )
    data.add_argument("--split", metavar="NAME", help="which split of a folder to read, such as train")
    data.add_argument(
        "--to", metavar="NAME", choices=FORMATS, help="format to write, if the name does not tell it"
    )
    data.add_argument("--scheme", choices=SCHEMES, default="BIO", help="tags to write (default: BIO)")
    data.add_argument("--no-provenance", action="store_true", help="do not write where each label comes from")
    data.add_argument("--json", action="store_true", help="print the report as one JSON object")
    run = parser.add_argument_group("execution")
    run.add_argument("--workers", type=int, metavar="N", help="processes (default: all cores)")
    run.add_argument(
        "--cache",
        metavar="FOLDER",
        help="where compiled dictionaries and answers are kept "
        "(default: ROSTER_CACHE, else the user's cache folder)",
    )
    run.add_argument("--no-cache", action="store_true", help="neither read nor write the cache")
    add_shards(parser)


def settings_of(args: argparse.Namespace) -> Settings:
    from roster.distant.settings import load_settings

    labels = {}
    for item in args.types:
        kind, equals, label = item.partition("=")
        if not equals or not kind:
            raise ConfigError(f"--types {item}: expected KIND=LABEL, for example 'ORG.*=ORG'")
        labels[kind] = label
    return load_settings(
        args.config,
        dictionaries=args.dictionary,
        format=args.dictionary_format,
        in_order=args.in_order,
        skip_broken=args.skip_broken,
        builtin=args.patterns,
        policy=_given(case=args.case),
        labels=labels,
        conflicts=_given(ambiguous=args.ambiguous, overlap=args.overlap, agreement=args.agreement),
        candidates=_given(by=args.candidates),
        kb=_given(source=args.kb, classes=args.classes),
        patch=args.patch,
        annotations=args.annotations,
        annotations_format=args.annotations_format,
        models=args.model,
        least_scores=_least_scores(args.least_score),
    )


def _least_scores(given: Sequence[str]) -> dict[str, float]:
    """By name of a source, "" for all; given as `X` or `NAME=X`."""
    scores = {}
    for item in given:
        name, _, value = item.rpartition("=")
        try:
            scores[name] = float(value)
        except ValueError:
            raise ConfigError(
                f"--least-score {item}: expected X or NAME=X, for example 0.5 or llm=0.5"
            ) from None
    return scores


def run(args: argparse.Namespace) -> int:
    if by_shards(args, args.corpus, args.output):
        return _shards(args)
    from roster.api.labelling import label_file
    from roster.log import LOGGER

    written = label_file(
        args.corpus,
        args.output,
        config=settings_of(args),
        format=args.format,
        split=args.split,
        to=args.to,
        scheme=args.scheme,
        provenance=not args.no_provenance,
        gold=args.gold,
        cache=not args.no_cache and (args.cache or True),
        workers=args.workers,
    )
    report, target = written.report, written.target
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    LOGGER.info(f"\nlabels: {target.file}   report: {target.report}")
    if not args.no_provenance:
        LOGGER.info(f"where each label comes from: {target.provenance}")
    if written.dead_entries:
        LOGGER.info(f"entries that can match nothing: {target.dead}")
    for warning in report.warnings:
        LOGGER.warning(warning)
    if target.folder and report.labels:
        LOGGER.info(f"Next: roster train {target.path} -o run")
    return 0


def _shards(args: argparse.Namespace) -> int:
    from roster.api.sharding import label_shards
    from roster.log import LOGGER

    if args.gold or args.split:
        raise ConfigError(
            "shards have neither --gold nor --split: label the sentences with true labels without --engine"
        )
    report = label_shards(
        args.corpus,
        args.output,
        config=settings_of(args),
        format=args.format,
        to=args.to,
        scheme=args.scheme,
        provenance=not args.no_provenance,
        cache=not args.no_cache and (args.cache or True),
        workers=args.workers,
        engine=args.engine,
        address=args.address,
        shard_size=args.shard_size,
    )
    print(json.dumps(report.as_dict(), indent=2, ensure_ascii=False) if args.json else report.text())
    for warning in report.warnings:
        LOGGER.warning(warning)
    if report.labels:
        LOGGER.info(f"Next: roster train {args.output} -o run")
    return 0


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
