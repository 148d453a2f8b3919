"""The page's first words: how good, what is wrong, what next."""

from __future__ import annotations

from roster.methods.quality import best_evidence, final_scores, hold_out_recall, recall_words, short
from roster.pages.document import text
from roster.reporting.evidence import Findings
from roster.reporting.facts import RunFacts


def summary(facts: RunFacts, evidence: Findings) -> str:
    """Three sentences."""
    parts = (quality(facts, evidence), warnings(facts), next_step(facts, evidence))
    return "".join(f"<p><strong>{name}.</strong> {text(words)}</p>" for name, words in parts)


def quality(facts: RunFacts, evidence: Findings) -> tuple[str, str]:
    measured = best_evidence(final_scores(facts.results))
    if evidence.checked is not None:
        measured = evidence.checked.name, evidence.checked.scores.as_dict()
    if measured is not None:
        place, scores = measured
        return "Quality", (
            f"Measured on {scores['support']:,} entities with true labels ({place}): F1 "
            f"{short(scores['f1'])}, precision {short(scores['precision'])}, recall "
            f"{short(scores['recall'])}."
        )
    if "all" in (recall := hold_out_recall(facts.results)):
        return "Quality", (
            "Not measured, as there are no sentences with true labels. The model is estimated to find a "
            f"share of {recall_words(recall['all'])} of the names that the dictionary lacks; nothing "
            "estimates its precision."
        )
    return "Quality", "Not measured and not estimated, as there are no sentences with true labels."


def warnings(facts: RunFacts) -> tuple[str, str]:
    found = facts.results.get("warnings")
    if found is None:
        return "Warnings", "This run was not checked for warnings."
    if not found:
        return "Warnings", "None: the model finds enough of the labels of every type."
    return "Warnings", "; ".join(found) + "."


def next_step(facts: RunFacts, evidence: Findings) -> tuple[str, str]:
    name = facts.path.name
    if facts.results.get("warnings"):
        return "Next", (
            f"roster audit {name} shows which labels of these types are believed wrong. Either most of them "
            "are, or there are too few to learn from."
        )
    if evidence.checked is None:
        return "Next", (
            f"roster audit {name} repairs the dictionary. roster review {name} measures precision, recall "
            "and F1 by a few of your answers."
        )
    return "Next", (
        "Read the examples where labels and model differ: repeated mistakes are names to add to the "
        f"dictionary, or entries to remove. roster audit {name} writes such a patch."
    )
