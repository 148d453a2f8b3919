"""What was derived from the data, and with what the run was made."""

from __future__ import annotations

from roster.pages.document import text
from roster.reporting.facts import RunFacts
from roster.reporting.html import Section, paragraph


def derived(facts: RunFacts) -> Section | None:
    """What was derived and why, and the decisions during the training."""
    parts = [paragraph(facts.derivation)] if facts.derivation else []
    if facts.notes:
        items = "".join(f"<li>{text(line)}</li>" for line in facts.notes)
        parts.append(f"<h3>Decisions during the training</h3><ul>{items}</ul>")
    return Section("derived", "Derived from the data", "".join(parts)) if parts else None


def config(facts: RunFacts) -> Section:
    code = (
        f'<details><summary>config.toml</summary><pre class="wide">{text(facts.config_text)}</pre></details>'
    )
    return Section("config", "Effective configuration", code)
