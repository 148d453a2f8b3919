"""RoSTER: a named-entity recogniser from raw text and a dictionary, without annotation.

>>> import roster
>>> labels = roster.label(["Ada Lovelace was born in London."], {"Ada Lovelace": "PER", "London": "LOC"})
>>> [(s.span_text(x), x.label) for s in labels for x in s.spans]
[('Ada Lovelace', 'PER'), ('London', 'LOC')]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roster.after_import import after_import

if TYPE_CHECKING:
    from roster.api.audit import audit
    from roster.api.data import convert
    from roster.api.estimator import Recognizer
    from roster.api.labelling import label, label_file
    from roster.api.recognition import calibrate, evaluate, export, predict, predict_file
    from roster.api.repair import repair
    from roster.api.reporting import report
    from roster.api.review import open_review, start_review
    from roster.api.serving import serve
    from roster.api.sharding import convert_shards, label_shards, predict_shards
    from roster.api.training import effective_config, pretrain, train
    from roster.corpus.dataset import Dataset
    from roster.corpus.io import read, write
    from roster.corpus.sentence import Sentence, Span
    from roster.infer.recogniser import Entities, Entity, Recogniser, load
    from roster.log import show_log
    from roster.reviewing.review import Review

__version__ = "0.1.0"
__all__ = [
    "Dataset",
    "Entities",
    "Entity",
    "Recogniser",
    "Recognizer",
    "Review",
    "Sentence",
    "Span",
    "audit",
    "calibrate",
    "convert",
    "convert_shards",
    "effective_config",
    "evaluate",
    "export",
    "label",
    "label_file",
    "label_shards",
    "load",
    "open_review",
    "predict",
    "predict_file",
    "predict_shards",
    "pretrain",
    "read",
    "repair",
    "report",
    "serve",
    "show_log",
    "start_review",
    "train",
    "write",
]
_MODULES = {
    "api.audit": ("audit",),
    "api.data": ("convert",),
    "api.estimator": ("Recognizer",),
    "api.labelling": ("label", "label_file"),
    "api.recognition": ("calibrate", "evaluate", "export", "predict", "predict_file"),
    "api.repair": ("repair",),
    "api.reporting": ("report",),
    "api.review": ("open_review", "start_review"),
    "api.serving": ("serve",),
    "api.sharding": ("convert_shards", "label_shards", "predict_shards"),
    "api.training": ("effective_config", "pretrain", "train"),
    "corpus.dataset": ("Dataset",),
    "corpus.io": ("read", "write"),
    "corpus.sentence": ("Sentence", "Span"),
    "infer.recogniser": ("Entities", "Entity", "Recogniser", "load"),
    "log": ("show_log",),
    "reviewing.review": ("Review",),
}
"""Where each name is defined."""


def __getattr__(name: str) -> Any:
    """Modules are imported when a name of theirs is first used: torch and transformers take seconds."""
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"roster.{module}"), name)
    raise AttributeError(f"module 'roster' has no attribute '{name}'")


def _register_pipeline() -> None:
    """The pipeline of transformers finds our entities. No error of it is one of importing transformers."""
    from importlib import import_module

    try:
        import_module("roster.integrations.pipelines").register()
    except Exception as error:  # of a version of transformers that nothing was tried with
        from roster.log import LOGGER

        LOGGER.warning(
            f"pipelines of transformers are without roster's own ({type(error).__name__}: {error})"
        )


after_import("transformers.pipelines", _register_pipeline)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
