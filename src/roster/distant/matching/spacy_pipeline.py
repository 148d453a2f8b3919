"""spaCy pipelines over the corpus's own words: loading, and what a `Doc` needs."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, ModelError, RosterError
from roster.safe_folder import PICKLES as ANY_PICKLES
from roster.safe_folder import check_folder

PICKLES = tuple(suffix for suffix in ANY_PICKLES if suffix != ".bin")
"""In spaCy's folders `.bin` is msgpack, not a pickle."""


def load_pipeline(pipeline: str | Path, purpose: str) -> tuple[Any, Any]:
    """A pipeline and spaCy's `Doc`.

    Args:
        pipeline: name of an installed pipeline, or a folder.
        purpose: what needs spaCy, for the message that it is not installed.

    Raises:
        RosterError: spaCy is not installed.
        ConfigError: there is no such pipeline, or it cannot be loaded.
    """
    try:
        import spacy
        from spacy.tokens import Doc
    except ImportError as error:
        raise RosterError(f'{purpose} needs spaCy: pip install "roster-ner[spacy]"') from error
    if Path(pipeline).is_dir():
        try:
            check_folder(pipeline, pickles=PICKLES)
        except ModelError as error:
            raise ConfigError(str(error)) from None
    try:
        return spacy.load(pipeline), Doc
    except (OSError, ValueError, ImportError) as error:
        if not Path(pipeline).exists() and isinstance(error, OSError):
            raise ConfigError(
                f"no spaCy pipeline {str(pipeline)!r}: install it (python -m spacy download {pipeline}), "
                "or give the folder of a pipeline"
            ) from error
        raise unusable(pipeline, error) from error


def unusable(pipeline: str | Path, error: Exception) -> ConfigError:
    """The error for a pipeline that fails when it is loaded or tried."""
    reason = " ".join(str(error).split())
    return ConfigError(f"the spaCy pipeline {str(pipeline)!r} cannot be used: {reason}")


def check_words(pipeline: str | Path, nlp: Any, doc: Any, words: int) -> None:
    """Raises ConfigError if the pipeline has joined or split words of the corpus."""
    if len(doc) != words:
        raise ConfigError(
            f"the spaCy pipeline {str(pipeline)!r} joins or splits words: "
            f"take out the component that does ({', '.join(nlp.pipe_names)})"
        )


def spaces_after(sentence: Sentence) -> list[bool]:
    """For each word whether anything stands between it and the next."""
    spaces = [end < start for (_, end), (start, _) in pairwise(sentence.offsets)]
    return [*spaces, False] if sentence.words else []
