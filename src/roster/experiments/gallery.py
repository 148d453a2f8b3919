"""All experiments by name, and the drawing of those that a file of results contains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from roster.errors import RosterError
from roster.experiments.drawing import Drawing, measured
from roster.experiments.figures import save
from roster.experiments.store import Results
from roster.files import write_text

EXPERIMENTS = (
    "main",
    "ablation",
    "ensemble",
    "parameters",
    "supervised",
    "augmentation",
    "cases",
    "gold",
    "robustness",
)
INDEX = "README.md"


def experiment(name: str) -> ModuleType:
    """Return the module of an experiment."""
    return import_module(f"roster.experiments.{name}")


def draw(name: str, results: Results, *, texts: bool, log: Callable[[str], None]) -> Drawing:
    """Return the drawing of one experiment; with `texts` also files with sentences, which need the data."""
    items = measured(results, name)
    if not items or (name == "cases" and not texts):
        return Drawing()
    module = experiment(name)
    if name == "cases":
        return _with_data(name, log, lambda: module.draw(items, results))
    if name == "augmentation":
        plain: Drawing = module.draw(items, examples=False)
        return _with_data(name, log, lambda: module.draw(items), plain) if texts else plain
    drawing: Drawing = module.draw(items)
    return drawing


def _with_data(
    name: str, log: Callable[[str], None], make: Callable[[], Drawing], instead: Drawing | None = None
) -> Drawing:
    """Draw a file with sentences; without the data, encoder or models return the drawing `instead`."""
    try:
        return make()
    except RosterError as error:
        log(f"{name}: no sentences are shown: {error}")
        return instead or Drawing()


def save_all(
    results: Results,
    folder: str | Path,
    *,
    names: Sequence[str],
    texts: bool,
    log: Callable[[str], None],
) -> list[Path]:
    """Write every table as Markdown and LaTeX, every figure as SVG and PNG, and a page with all of them."""
    folder = Path(folder)
    paths, parts = [], ["# Results", ""]
    for name in names:
        drawing = draw(name, results, texts=texts, log=log)
        for table in drawing.tables:
            paths += write_all(
                folder, {f"{table.name}.md": table.markdown(), f"{table.name}.tex": table.latex()}
            )
            parts.append(table.markdown())
        for figure in drawing.figures:
            folder.mkdir(parents=True, exist_ok=True)
            paths += save(figure, folder)
            parts += [f"![{figure.title}]({figure.name}.svg)", ""]
        paths += write_all(folder, drawing.texts)
    if len(parts) > 2:
        paths += write_all(folder, {INDEX: "\n".join(parts)})
    return paths


def write_all(folder: Path, texts: dict[str, str]) -> list[Path]:
    """Write files by name; return their paths."""
    for name, text in texts.items():
        write_text(folder / name, text)
    return [folder / name for name in texts]
