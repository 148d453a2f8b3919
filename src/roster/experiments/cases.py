"""Sentences on which the methods differ, with coloured labels, for the terminal and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import combinations
from pathlib import Path

from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence, Span
from roster.corpus.tokenizer import split
from roster.errors import DataError
from roster.experiments.data import changed, check_distant, dataset_of, gold_sentences
from roster.experiments.drawing import Drawing, Measured, grouped, slug
from roster.experiments.main import ORDER, title_of
from roster.experiments.main import rows as rows_of_main
from roster.experiments.plan import Asked, Row
from roster.experiments.point import Point
from roster.experiments.store import Results
from roster.model.folder import is_model

CASES, LONGEST = 10, 40
GOLD, DISTANT = "gold labels", "distant labels"
ANSI = (31, 34, 33, 35, 36, 32)
HTML = ("#f7c6c5", "#c7d9f7", "#fbe3b0", "#e3cdf2", "#c5ece9", "#cdeac4", "#e0e0e0", "#f5cfe3")


@dataclass(frozen=True)
class Case:
    """One sentence with the labels of each method."""

    labels: Mapping[str, Sentence]


def rows(asked: Asked, methods: Sequence[str] | None = None) -> list[Row]:
    """One training of each method, with the first seed. Its model is kept."""
    one = Asked(asked.data, asked.backbone, asked.seeds[:1], asked.presets, asked.overrides, asked.names)
    return [row for row in rows_of_main(one, methods) if row.point.trains]


@dataclass(frozen=True)
class Shown:
    """The cases of one data set."""

    name: str
    title: str
    cases: Sequence[Case]

    def texts(self) -> dict[str, str]:
        plain = terminal(self.title, self.cases, colour=False)
        return {f"{self.name}.html": page(self.title, self.cases), f"{self.name}.txt": plain}


def show(
    items: Sequence[Measured], results: Results, *, part: str = "test", typed: Sequence[str] = ()
) -> list[Shown]:
    """Return the cases of each data set.

    The file of results has no sentences, so the data sets and the models beside the results are needed.
    """
    return [
        Shown(
            slug("cases", data, backbone),
            f"Where methods differ on {data} ({part}) with {backbone}",
            collect(group, results, part, typed),
        )
        for (data, backbone), group in grouped(items, lambda m: (m.data, m.backbone))
    ]


def draw(items: Sequence[Measured], results: Results) -> Drawing:
    texts: dict[str, str] = {}
    for shown in show(items, results):
        texts |= shown.texts()
    return Drawing(texts=texts)


def collect(
    items: Sequence[Measured], results: Results, part: str = "test", typed: Sequence[str] = ()
) -> list[Case]:
    """Return the sentences that the user gave, then those on which the methods differ most."""
    from roster.infer.recogniser import load

    point = Point.from_dict(items[0].record["asked"])
    dataset = changed(dataset_of(point.data), point.change)
    own = [sentence for text in typed for sentence in split(text)]
    given = sentences_of(dataset, part)
    by_method: dict[str, list[Sentence]] = dict(given)
    texts = [*own, *next(iter(given.values()))]
    typed_found: dict[str, list[Sentence]] = {}
    order = {arm: i for i, arm in enumerate(ORDER)}
    methods = []
    for item in sorted(items, key=lambda m: order.get(m.arm, len(order))):
        folder = results.run_folder(item.record["key"])
        if not is_model(folder / "model"):
            raise DataError(
                "the models of this experiment are not here; roster benchmark cases trains them again",
                path=folder,
            )
        predicted = [one.sentence for one in load(Path(folder)).find(texts)]
        name = title_of(item.arm)
        methods.append(name)
        typed_found[name], by_method[name] = predicted[: len(own)], predicted[len(own) :]
    chosen = most_different([by_method[name] for name in methods])
    cases = [Case({name: labels[i] for name, labels in typed_found.items()}) for i in range(len(own))]
    return cases + [Case({name: labels[i] for name, labels in by_method.items()}) for i in chosen]


def sentences_of(dataset: Dataset, part: str) -> dict[str, list[Sentence]]:
    """Return the sentences of a split with gold labels, and for `train` also with distant labels."""
    if part == "train":
        check_distant(dataset)
        return {DISTANT: dataset.train, GOLD: gold_sentences(dataset)}
    labelled: list[Sentence] = getattr(dataset, part)
    if not labelled:
        raise DataError(f"there is no split {part}", path=dataset.path)
    return {GOLD: labelled}


def most_different(methods: Sequence[Sequence[Sentence]], most: int = CASES) -> list[int]:
    """Return the indices of the sentences with the most differing spans, summed over all pairs of methods.

    Gold labels have no influence on the choice. Of equals the shorter sentence comes first; sentences of more
    than `LONGEST` words are left out.
    """

    def difference(i: int) -> int:
        spans = [set(labels[i].spans or ()) for labels in methods]
        return sum(len(a ^ b) for a, b in combinations(spans, 2))

    numbers = [i for i in range(len(methods[0])) if len(methods[0][i]) <= LONGEST]
    scored = sorted(((difference(i), -len(methods[0][i]), -i) for i in numbers), reverse=True)
    return [-i for score, _, i in scored[:most] if score]


def terminal(title: str, cases: Sequence[Case], *, colour: bool) -> str:
    types = types_of(cases)
    width = max((len(name) for case in cases for name in case.labels), default=0)
    lines = [title]
    for number, case in enumerate(cases, 1):
        lines += ["", f"{number}."]
        for name, sentence in case.labels.items():
            lines.append(f"  {name:{width}}  {in_terminal(sentence, types, colour)}")
    return "\n".join(lines) + "\n"


def in_terminal(sentence: Sentence, types: Sequence[str], colour: bool) -> str:
    """`[Oslo LOC]`, in the colour of its type."""

    def mark(text: str, span: Span) -> str:
        shown = f"[{text} {span.label}]"
        return f"\x1b[{ANSI[types.index(span.label) % len(ANSI)]}m{shown}\x1b[0m" if colour else shown

    return "".join(mark(text, span) if span else text for text, span in pieces(sentence))


def page(title: str, cases: Sequence[Case]) -> str:
    types = types_of(cases)
    colours = {name: HTML[i % len(HTML)] for i, name in enumerate(types)}
    rows = []
    for number, case in enumerate(cases, 1):
        for i, (name, sentence) in enumerate(case.labels.items()):
            count = f'<th rowspan="{len(case.labels)}">{number}</th>' if i == 0 else ""
            text = "".join(_mark(piece, span, colours) for piece, span in pieces(sentence))
            rows.append(f"<tr>{count}<td>{escape(name)}</td><td>{text}</td></tr>")
    legend = " ".join(f'<mark style="background:{c}">{escape(name)}</mark>' for name, c in colours.items())
    style = (
        "body{font:15px sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
        "table{border-collapse:collapse}td,th{padding:.3em .6em;vertical-align:top;text-align:left}"
        "tr:has(th){border-top:1px solid #999}td:nth-last-child(2){color:#555;white-space:nowrap}"
        "mark{padding:.1em .25em;border-radius:.25em}sub{font-size:.65em;margin-left:.3em}"
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title>\n"
        f"<style>{style}</style>\n<h1>{escape(title)}</h1>\n<p>{legend}</p>\n<table>\n"
        + "\n".join(rows)
        + "\n</table></html>\n"
    )


def _mark(text: str, span: Span | None, colours: Mapping[str, str]) -> str:
    if span is None:
        return escape(text)
    inner = f"{escape(text)}<sub>{escape(span.label)}</sub>"
    return f'<mark style="background:{colours[span.label]}">{inner}</mark>'


def types_of(cases: Iterable[Case]) -> list[str]:
    types = {x.label for case in cases for s in case.labels.values() for x in s.spans or ()}
    return sorted(types)


def pieces(sentence: Sentence) -> list[tuple[str, Span | None]]:
    """Split the text of a sentence at its spans.

    >>> pieces(Sentence.from_words(["in", "Oslo", "."], [Span(1, 2, "LOC")]))
    [('in ', None), ('Oslo', Span(start=1, end=2, label='LOC')), (' .', None)]
    """
    if not sentence.words:
        return []
    parts: list[tuple[str, Span | None]] = []
    at, end = sentence.offsets[0][0], sentence.offsets[-1][1]
    for span in sorted(sentence.spans or ()):
        start, stop = sentence.char_span(span)
        parts += [(sentence.text[at:start], None), (sentence.text[start:stop], span)]
        at = stop
    return [piece for piece in [*parts, (sentence.text[at:end], None)] if piece[0]]
