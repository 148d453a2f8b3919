"""The page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence
from roster.files import write_text
from roster.infer.recogniser import Recogniser, load
from roster.pages.document import document, text
from roster.reporting import plots
from roster.reporting.evidence import Findings, gather
from roster.reporting.facts import RunFacts, read_run
from roster.reporting.html import Section, paragraph
from roster.reporting.sections.examples import examples
from roster.reporting.sections.quality import calibration, entities, estimate, mistakes, scores
from roster.reporting.sections.settings import config, derived
from roster.reporting.sections.summary import summary
from roster.reporting.sections.training import agreement, cost, kept, loss

FILE = "report.html"
NO_PLOTS = (
    'Figures are shown as tables, because matplotlib is not installed: pip install "roster-ner[figures]", '
    "then roster report."
)
STYLE = """
:root { --s0: #0064a8; --s1: #b84a00; --s2: #00785a; --s3: #a33d7d; --s4: #7d6200; --s5: #4a55c8;
  --s6: #5c5c5c; --s7: #8c2f39; }
@media (prefers-color-scheme: dark) { :root { --s0: #56b4e9; --s1: #ff9a56; --s2: #34d3a4; --s3: #eb9ccb;
  --s4: #e8d34a; --s5: #a7b0ff; --s6: #bdbdbd; --s7: #ff8f9a; } }
body { max-width: 52rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
nav ul, .legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; list-style: none; }
.summary { padding: .2rem 1rem; background: var(--panel); border: 1px solid var(--line);
  border-radius: .4rem; }
figure { margin: 1.2rem 0; max-width: 34rem; break-inside: avoid; }
figcaption, caption { font-weight: 600; text-align: left; padding: .3rem 0; }
figure svg { display: block; width: 100%; height: auto; }
.legend { font-size: .875rem; margin: .4rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 20rem), 1fr));
  gap: 0 1.5rem; }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--dim); }
pre { font-size: .8rem; padding: .6rem; background: var(--panel); }
.example { margin: 0 0 1rem; padding: .5rem .8rem; border-left: 3px solid var(--line); break-inside: avoid;
  display: grid; grid-template-columns: 3.6rem 1fr; gap: .3rem .5rem; overflow-wrap: anywhere; }
.example dt { color: var(--dim); font-size: .875rem; }
.example dd { margin: 0; }
mark.e { background: color-mix(in srgb, var(--c) 18%, transparent); box-shadow: inset 0 -2px var(--c); }
mark.e small { color: var(--c); font-weight: 700; font-size: .7em; }
@media (max-width: 30rem) { body { padding: .5rem .9rem 3rem; } th, td { padding: .3rem .4rem; }
  .example { grid-template-columns: 1fr; gap: 0; } .example dd + dt { margin-top: .5rem; } }
@media print { summary { display: none; } mark.e { print-color-adjust: exact; }
  #config details::details-content { content-visibility: visible; } pre { white-space: pre-wrap; } }
"""


def page(facts: RunFacts, evidence: Findings, draw: bool) -> str:
    """The HTML of a run; with `draw` its charts are drawings."""
    found = sections(facts, evidence, draw)
    links = "".join(f'<li><a href="#{one.id}">{text(one.title)}</a></li>' for one in found)
    body = [
        f"<h1>Run <bdi>{text(facts.path.resolve().name)}</bdi></h1>",
        _facts_line(facts),
        f'<div class="summary">{summary(facts, evidence)}</div>',
        "" if draw else paragraph(NO_PLOTS, "dim"),
        f'<nav class="no-print" aria-label="Contents"><ul>{links}</ul></nav>',
        *(f'<section id="{s.id}"><h2>{text(s.title)}</h2>{s.html}</section>' for s in found),
    ]
    return document(f"Run {facts.path.resolve().name}", "\n".join(body), STYLE)


def sections(facts: RunFacts, evidence: Findings, draw: bool) -> list[Section]:
    """Those whose facts are there, the most important first."""
    made = (
        scores(facts, evidence, draw),
        estimate(facts),
        entities(facts, draw),
        examples(facts, evidence),
        mistakes(evidence),
        calibration(facts, evidence, draw),
        agreement(facts),
        kept(facts, draw),
        loss(facts, draw),
        derived(facts),
        config(facts),
        cost(facts, draw),
    )
    return [one for one in made if one is not None]


def _facts_line(facts: RunFacts) -> str:
    backbone = Path(facts.config["backbone"]["name"])
    name = backbone.name if backbone.is_absolute() else str(backbone)
    words = f"Method {facts.config['method']}, backbone {name}, types {', '.join(facts.types)}."
    return paragraph(words, "dim")


def write_report(
    run: str | Path,
    output: str | Path | None = None,
    *,
    data: str | Path | Dataset | None = None,
    gold: Sequence[Sentence] | None = None,
    model: Recogniser | None = None,
    device: str = "auto",
) -> Path:
    """Writes the page of a finished run, and returns its path.

    Args:
        run: the run folder.
        output: the file; `report.html` in the run folder without it.
        data: the data set, where it was moved; without it, where the run found it.
        gold: sentences with true labels to compare the model with; without them those of the data set.
        model: the model of the run, where it is loaded already.
        device: where to load it.
    """
    facts = read_run(run, data)
    ner = load(facts.path, device) if model is None else model
    path = facts.path / FILE if output is None else Path(output)
    write_text(path, page(facts, gather(facts, ner, gold), plots.available()))
    return path
