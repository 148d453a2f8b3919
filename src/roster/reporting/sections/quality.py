"""How good the model is: measured where there are true labels, estimated where there are none."""

from __future__ import annotations

from roster.infer.calibration import Fit
from roster.methods.quality import HOLD_OUT_ERROR, final_scores, hold_out_recall
from roster.reporting.charts import entities_by_type, reliability, scores_by_stage
from roster.reporting.evidence import (
    MISSED,
    NO_ENTITY,
    OTHER_BORDERS,
    Findings,
    confusion,
)
from roster.reporting.facts import RunFacts
from roster.reporting.html import Section, figure, paragraph, table


def scores(facts: RunFacts, evidence: Findings, draw: bool) -> Section | None:
    """Precision, recall and F1: of all types by stage, and of the final model by type."""
    parts = []
    checked, by_split = evidence.checked, final_scores(facts.results)
    if checked is not None and checked.name not in by_split:
        parts.append(_by_type(checked.name, checked.scores.as_dict()))
    for split, found in by_split.items():
        parts.append(figure(scores_by_stage(facts.stages, split), draw))
        parts.append(_by_type(split, found))
    return Section("scores", "Scores on true labels", "".join(parts)) if parts else None


def _by_type(split: str, found: dict[str, object]) -> str:
    types = dict(found.get("types", {}))  # type: ignore[call-overload]
    rows = [
        (n, *(s[key] for key in ("precision", "recall", "f1", "support")))
        for n, s in [*types.items(), ("all", found)]
    ]
    return table(("type", "precision", "recall", "F1", "entities"), rows, f"The final model on {split}")


def estimate(facts: RunFacts) -> Section | None:
    """The hold-out recall by type."""
    found = hold_out_recall(facts.results)
    if not found:
        return None
    rows = [(n, e["value"], max(HOLD_OUT_ERROR, e["error"]), e["names"]) for n, e in found.items()]
    words = (
        "Each member is trained without the labels of a part of the names. The share of these that it finds "
        "estimates the recall for names that the dictionary lacks. On seventeen data sets with true labels "
        "it was off from the recall of the members by .07 on average, and by more than .1 in a third of the "
        "cases, because the names of a dictionary are not drawn like those of a text. It estimates no "
        "precision."
    )
    head = ("type", "estimated recall", "error", "names held out")
    return Section("estimate", "Estimated recall", paragraph(words) + table(head, rows))


def entities(facts: RunFacts, draw: bool) -> Section | None:
    """Entities by type beside the labels."""
    chart = entities_by_type(facts.results.get("found", {}))
    if chart is None:
        return None
    words = (
        "Many more entities than labels are names that the dictionary lacks, or a type that the model "
        "overuses; the examples show which. Labels that the model does not find may be wrong labels."
    )
    return Section("entities", "Entities by type beside the labels", paragraph(words) + figure(chart, draw))


def mistakes(evidence: Findings) -> Section | None:
    """The confusion of types."""
    if evidence.checked is None:
        return None
    counts = confusion(evidence.checked)
    true = sorted({a for a, _ in counts} - {NO_ENTITY})
    columns = sorted({b for _, b in counts} - {OTHER_BORDERS, MISSED})
    rows = [(a, *(counts.get((a, b), 0) for b in [*columns, OTHER_BORDERS, MISSED])) for a in true]
    rows.append((NO_ENTITY, *(counts.get((NO_ENTITY, b), 0) for b in columns), "", ""))
    words = f"Rows: the true type of an entity. Columns: what the model finds there. {_sample(evidence)}"
    html = paragraph(words) + table(("true type", *columns, OTHER_BORDERS, MISSED), rows)
    return Section("confusion", "Confusion", html)


def calibration(facts: RunFacts, evidence: Findings, draw: bool) -> Section | None:
    """The calibration that the model has, and how far scores are from probabilities on the true labels."""
    parts = [part for part in (_kept(facts), _checked(facts, evidence, draw)) if part]
    return Section("calibration", "Calibration of the scores", "".join(parts)) if parts else None


def _kept(facts: RunFacts) -> str:
    fit = facts.calibration
    if fit is None:
        return ""
    words = (
        "Scores are calibrated: roster predict prints for each entity an estimate of the probability that it "
        f"is right. roster calibrate fitted it to {fit.entities:,} entities; the errors after calibration "
        "are by cross-fitting on them."
    )
    return paragraph(words) + _reliability_table(fit, "The calibration in the model folder")


def _checked(facts: RunFacts, evidence: Findings, draw: bool) -> str:
    checked = evidence.checked
    if checked is None or not (judged := checked.judged).enough:
        return ""
    fit, raw, right = judged.fit(), judged.score, judged.right
    chart = reliability({"scores": (raw, right), "calibrated": (judged.calibrated(), right)})
    advice = " Scores are not calibrated yet; roster calibrate RUN GOLD calibrates them."
    how = "" if facts.calibration else advice
    words = (
        f"Of the {fit.entities:,} entities that the model finds, {right.mean():.0%} are right, and their "
        f"mean score without calibration is {raw.mean():.2f}. Calibrated scores are by cross-fitting here: "
        f"each half of the sentences with what the other half gives. {_sample(evidence)}{how}"
    )
    return paragraph(words) + _reliability_table(fit, checked.name) + figure(chart, draw)


def _reliability_table(fit: Fit, title: str) -> str:
    rows = [(name, *values) for name, values in fit.measures.items()]
    return table(("", "scores", "calibrated"), rows, title)


def _sample(evidence: Findings) -> str:
    checked = evidence.checked
    assert checked is not None
    if len(checked.gold) == checked.of:
        return f"Sentences: {checked.of:,} ({checked.name})."
    return f"Sentences: {len(checked.gold):,} of {checked.of:,} ({checked.name})."
