"""The model card: README.md in a model folder, in the format of the Hugging Face hub.

What is not known (the licence of the data, mostly) is named as unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import roster
from roster.backbone.loading import BUNDLED, resolve
from roster.config import BILSTM_CNN, Config
from roster.corpus.dataset import Dataset
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, ModelError
from roster.methods.quality import best_evidence, estimate_lines, final_scores, short
from roster.pages.markdown import cell, facts_table, table, with_section
from roster.parsing import parse_json

LABEL_REPORT = "labels.json"
"""Beside the training data, where `roster label` made it."""
SCORES, LIMITS = "Scores of entities", "Limits"
"""Titles of sections. `roster calibrate` replaces that of the scores."""
NOT_CALIBRATED = """\
The score of an entity is the mean probability of its words. Scores are not calibrated: they are no
probabilities that entities are right. `roster calibrate` fits them to sentences with true labels."""
NOT_OF_TRANSFORMERS = " It is not a model of the transformers library."
USE = "Use with transformers"
LANGUAGE = re.compile(r"^[a-z]{2,3}(?:-[A-Za-z]{2,8})?$|^multilingual$")
"""What the hub takes for a language: ISO 639 codes, perhaps with a script or a country."""
LICENCE = re.compile(r"^(?:license:|\|\s*licen[cs]e\s*\|)\s*([^|\n]+?)\s*\|?\s*$", re.M | re.I)
"""In the front matter of a card, or in its table."""


def model_card(
    config: Config,
    types: Sequence[str],
    dataset: Dataset,
    train: Sequence[Sentence],
    gold: Sequence[Sentence],
    results: Mapping[str, Any],
) -> str:
    """The card of a model at the end of its training.

    Args:
        config: the effective config.
        types: the types that the model chooses from.
        dataset: what it was trained on.
        train: the sentences it learned from.
        gold: those among them with true labels.
        results: of the run, so far.
    """
    base, licence = _backbone(config.backbone.name)
    labels = sum(len(s.spans or ()) for s in train) - sum(len(s.spans or ()) for s in gold)
    data = "in memory" if dataset.path is None else dataset.path.resolve().name
    facts = {
        "types": ", ".join(types),
        "method": config.method,
        "backbone": base,
        "licence of the backbone": licence or "unknown",
        "data": data,
        "text": f"{len(train):,} sentences, {sum(map(len, train)):,} words",
        "labels": f"{labels:,}, distant (from names and patterns, not checked by people)",
        "sources of the labels": ", ".join(_sources(dataset.path)) or "unknown",
        "sentences with true labels": f"{len(gold):,} among the sentences learned from",
        "made by": f"roster {roster.__version__}",
    }
    return f"""{_front_matter(config)}
# Named-entity recogniser: {cell(", ".join(types))}

Trained by `roster train` on distant labels. Use: `roster predict FOLDER FILE`, or in Python
`roster.load("FOLDER")("A text.")`.{NOT_OF_TRANSFORMERS}

{facts_table(facts)}

## Labels and what the model finds

{_counts(results.get("found", {}))}

## Quality

{_quality(results)}

## {SCORES}

{NOT_CALIBRATED}

## {LIMITS}

- Labels from a dictionary are incomplete and partly wrong; the model may have learned some of their errors.
- It finds the types above and no others, in text like that it was trained on.
- It reflects the content and the biases of its text, its dictionary and its backbone.
{_warnings(results)}
## Configuration

All settings are in config.toml.

## Licence

{_licence_words(base, licence)}
"""


def calibrated_card(card: str, entities: int, errors: Mapping[str, tuple[float, float]]) -> str:
    """A card with the section on calibrated scores.

    Args:
        card: the card so far, perhaps edited, or made by an earlier version.
        entities: how many the calibration was fitted to.
        errors: the value of each measure before and after.
    """
    rows = [(name, *(f"{value:.3f}" for value in pair)) for name, pair in errors.items()]
    words = f"""\
Scores are calibrated: the score of an entity is an estimate of the probability that it is right. `roster
calibrate` fitted it to the {entities:,} entities that the model finds in sentences with true labels.

{table(("0 is best", "before", "after"), rows)}

"After" is by cross-fitting: each half of the sentences is judged by what was fitted to the other half. In
text of another kind the error can be larger."""
    return with_section(card, SCORES, words, before=LIMITS)


def transformers_card(card: str, types: Sequence[str], scheme: str, language: str | None = None) -> str:
    """The card of a model that was written for transformers.

    Args:
        card: that of the model; empty where it has none.
        types: its types.
        scheme: how its classes become spans.
        language: the code of the language, such as `en`; None leaves out what is not known.

    Returns:
        The card with the fields that the hub reads, and a section on its use.

    Raises:
        ConfigError: `language` is no code of a language.
    """
    if language is not None and not LANGUAGE.match(language):
        raise ConfigError(f"{language!r} is not the code of a language, such as en, de or multilingual")
    card = card or f"---\nlicense: unknown\n---\n# Named-entity recogniser: {cell(', '.join(types))}\n"
    fields = {"library_name": "transformers", "pipeline_tag": "token-classification"}
    if language is not None:
        fields = {"language": language, **fields}
    page = with_fields(card.replace(NOT_OF_TRANSFORMERS, ""), fields)
    both = """\
Each type has one label, `I-` and its name. `O` has as many labels as there are types; the probability of `O`
is the sum of theirs. A pipeline takes the most probable label instead. It may then mark a word whose
probability of being in an entity is just above .5 and is divided between types; roster does not."""
    return with_section(page, USE, f"""\
```python
from transformers import pipeline

ner = pipeline("token-classification", "FOLDER", aggregation_strategy="first")
```

The model has learned to classify a word at its first sub-word, so the strategy is `first`; `simple` reads
the other sub-words, too, which were not trained. Texts longer than the model takes are cut off unless
`stride` is given. {both if scheme == "io" else ""}

After `import roster` (`pip install roster-ner`) the same pipeline finds what `roster predict` finds, with
`simple` or `first`, in texts of any length.
""", before="Labels and what the model finds")  # fmt: skip


def with_fields(card: str, fields: Mapping[str, str]) -> str:
    """A card whose front matter has these fields, in the place of those of the same name.

    >>> print(with_fields("Text", {"language": "en"}))
    ---
    language: en
    ---
    Text
    """
    front, body = "", card
    if card.startswith("---\n") and "\n---" in card[3:]:
        front, body = card[4:].split("\n---", 1)
        body = body.removeprefix("\n")
    lines = [line for line in front.splitlines() if line.partition(":")[0] not in fields]
    at = next((i for i, line in enumerate(lines) if line.startswith("tags:")), len(lines))
    lines[at:at] = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join(["---", *lines, "---", body])


def licence_of(card: str) -> str:
    """The licence that a card names; empty where it names none.

    >>> licence_of("---" + chr(10) + "license: apache-2.0" + chr(10) + "---"), licence_of("| licence | MIT |")
    ('apache-2.0', 'MIT')
    >>> licence_of("no word")
    ''
    """
    found = LICENCE.search(card)
    return found[1].strip("\"'") if found else ""


def _front_matter(config: Config) -> str:
    lines = ["license: unknown", "library_name: roster", "pipeline_tag: token-classification"]
    if _on_the_hub(config.backbone.name):
        lines.append(f"base_model: {json.dumps(config.backbone.name)}")
    tags = ["named-entity-recognition", "distant-supervision", "roster"]
    return "\n".join(["---", *lines, "tags:", *(f"- {tag}" for tag in tags), "---"])


def _on_the_hub(name: str) -> bool:
    return name not in (*BUNDLED, BILSTM_CNN) and not Path(name).expanduser().is_dir()


def _backbone(name: str) -> tuple[str, str]:
    """Its name, without the folder it lies in, and the licence that its card names."""
    if name == BILSTM_CNN:
        return "bilstm-cnn, trained from scratch", ""
    try:
        folder = Path(resolve(name))
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except (OSError, ModelError):
        card = ""
    local = Path(name).expanduser()
    return (local.resolve().name if local.is_dir() else name), licence_of(card)


def _sources(data: Path | None) -> list[str]:
    """Where the labels come from, by the report of `roster label` beside the data."""
    if data is None:
        return []
    report = (data if data.is_dir() else data.parent) / LABEL_REPORT
    try:
        sources = parse_json(report.read_text(encoding="utf-8"))["sources"]
        return [f"{name} ({count:,})" for name, count in sources.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _counts(found: Mapping[str, Mapping[str, int]]) -> str:
    if not found:
        return "Not counted."
    head = ("type", "labels in the training text", "of them found by the model", "entities found")
    return table(head, [(n, c["labels"], c["labels_found"], c["found"]) for n, c in found.items()])


def _quality(results: Mapping[str, Any]) -> str:
    evidence, estimates = best_evidence(final_scores(results)), estimate_lines(results)
    parts = []
    if evidence is not None:
        split, scores = evidence
        rows = [
            (n, *(short(s[k]) for k in ("precision", "recall", "f1")), s["support"])
            for n, s in [*scores.get("types", {}).items(), ("all", scores)]
        ]
        head = ("type", "precision", "recall", "F1", "entities")
        parts.append(f"On the split `{split}`, which has true labels:\n\n{table(head, rows)}")
    else:
        parts.append("Not measured: no sentences with true labels were given.")
    if estimates:
        parts.append("Estimates without true labels:\n\n" + "\n".join(f"- {cell(x)}" for x in estimates))
    return "\n\n".join(parts)


def _warnings(results: Mapping[str, Any]) -> str:
    return "".join(f"- Warning of the training: {cell(line)}.\n" for line in results.get("warnings", ()))


def _licence_words(base: str, licence: str) -> str:
    known = f"The licence of the backbone {cell(base)} is {cell(licence)}. " if licence else ""
    unknown = "text and of the dictionary" if licence else "text, of the dictionary and of the backbone"
    return (
        f"{known}The licences of the {unknown} are not known to this program: look them up before you "
        "publish the model, and replace `license: unknown` above."
    )
