"""What happened in the training: labels kept, losses, agreement, time and memory."""

from __future__ import annotations

from roster.methods import quality
from roster.progress import gigabytes
from roster.reporting.charts import kept_labels, losses, seconds, seconds_by_stage
from roster.reporting.evidence import agreements
from roster.reporting.facts import RunFacts
from roster.reporting.html import Section, figure, paragraph, table


def kept(facts: RunFacts, draw: bool) -> Section | None:
    """The share of labels kept, by type over time, or at the end where only that is known."""
    chart = kept_labels(facts.members)
    words = (
        "Noise-robust training removes labels that a member does not believe. A type that loses most of "
        "its labels either has wrong ones or was not learned. Lines are means of the members, bands their "
        "range."
    )
    if chart is not None:
        return Section("kept", "Labels kept by type", paragraph(words) + figure(chart, draw))
    rows = [
        (name, f["kept_type_labels"], f.get("kept_o_labels", ""))
        for name, f in facts.members.items()
        if "kept_type_labels" in f
    ]
    if not rows:
        return None
    head = ("member", "entity labels kept", "O labels kept")
    html = paragraph(words.split(" Lines are")[0]) + table(head, rows)
    return Section("kept", "Labels kept", html)


def loss(facts: RunFacts, draw: bool) -> Section | None:
    charts = losses(facts.stages)
    if not charts:
        return None
    figures = "".join(figure(chart, draw) for chart in charts)
    words = "Stages have different losses; only values of one chart compare."
    return Section("losses", "Losses", f'{paragraph(words)}<div class="charts">{figures}</div>')


def agreement(facts: RunFacts) -> Section | None:
    """How far the members agree with each other and with the final model."""
    if facts.predictions is not None and len(facts.predictions.members) > 1:
        sides = {f"member {i}": p for i, p in enumerate(facts.predictions.members)}
        sides["final"] = facts.predictions.final
        rows = [(n, *row) for n, row in zip(sides, agreements(sides), strict=True)]
        words = (
            "The share of words with the same class, of those where either side has an entity. Members "
            "that agree little have learned little that is in the labels."
        )
        return Section("agreement", "Agreement of the members", paragraph(words) + table(("", *sides), rows))
    share = quality.agreement(facts.results)
    if share is None:
        return None
    words = (
        f"The ensemble model has the same class as the mean of the members on {share:.0%} of the words where "
        "either has an entity."
    )
    return Section("agreement", "Agreement", paragraph(words))


def cost(facts: RunFacts, draw: bool) -> Section | None:
    spent = seconds_by_stage(facts.stages)
    if not spent:
        return None
    words = [f"Together {sum(spent.values()):,.0f} s."]
    for key, name in (("peak_memory", "memory"), ("peak_gpu_memory", "GPU memory")):
        if peaks := [stage[key] for stage in facts.stages.values() if key in stage]:
            words.append(f"Peak {name} {gigabytes(max(peaks))}.")
    return Section(
        "cost", "Time and memory", paragraph(" ".join(words)) + figure(seconds(facts.stages), draw)
    )
