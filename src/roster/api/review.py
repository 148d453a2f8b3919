"""`roster.start_review` and `roster.open_review`: how good a model is, by a person's answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roster.corpus.dataset import load_dataset
from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.corpus.texts import sentences_of
from roster.errors import ConfigError, RunError
from roster.reviewing.folder import DIFFERENT, SENTENCES_FILE, About, check_about, create, is_review
from roster.reviewing.review import Review
from roster.training.finished import FinishedRun

if TYPE_CHECKING:
    from roster.infer.recogniser import Recogniser

SENTENCES = 20000
"""Sentences of a text among which a review draws; more change an estimate by less than half a point of F1."""


def start_review(
    model: str | Path | Recogniser,
    text: str | Path | Iterable[Any],
    folder: str | Path,
    *,
    format: str | None = None,
    split: str | None = None,
    sentences: int = SENTENCES,
    seed: int = 0,
    device: str = "auto",
) -> Review:
    """Begins a review of what a model finds in a text, or goes on with the one in `folder`.

    The model is only needed at the beginning. Where the text has labels, such as those of a dictionary,
    sentences in which they differ from the model's are asked about more often; they are never taken for the
    truth.

    Args:
        model: a recogniser, a model folder or a run folder.
        text: a file or folder of any format, or texts in memory, as `label` takes them.
        folder: where the review is kept, with everything it needs.
        format: the format of `text`, where it is not recognised.
        split: the split to read where `text` is a folder of several.
        sentences: how many sentences are drawn from a longer text, at random.
        seed: of the order of the questions.
        device: `auto`, `cpu` or `cuda`, where `model` is a folder.

    Returns:
        The review; use it in a `with` statement, or close it.

    Raises:
        DataError: for a text that cannot be read, with the place, or has no sentences.
        ModelError: for a folder that is not a model.
        RunError: if `folder` holds another review, or another process has it open.

    >>> with start_review("runs/news", "news.txt", "review") as review:  # doctest: +SKIP
    ...     while (question := review.next()) is not None:
    ...         review.answer("all right")
    ...     print(review.estimate().f1)
    """
    folder = Path(folder)
    if sentences < 1:
        raise ConfigError(f"sentences must be 1 or more, not {sentences}")
    about = About(_name(model), _name(text), (), 0, sentences, seed)
    if is_review(folder):
        asked = asdict(about)
        check_about(folder, {key: asked[key] for key in DIFFERENT})
        return Review(folder)
    if folder.exists() and (not folder.is_dir() or any(_visible(folder))):
        raise RunError(f"{folder} exists already and is no review; give another folder")
    from roster.infer.recogniser import load
    from roster.reviewing.prediction import predict, sample

    ner = load(model, device) if isinstance(model, str | Path) else model
    source = _sentences(model, text, format, split)
    drawn, total = sample(source, sentences, seed)
    found, expected = predict(ner, drawn)
    folder.mkdir(parents=True, exist_ok=True)
    create(folder, About(about.model, about.text, tuple(ner.types), total, sentences, seed), found, expected)
    return Review(folder)


def open_review(folder: str | Path) -> Review:
    """Opens a review that was begun, at the question where it ended.

    Args:
        folder: the folder of the review.

    Returns:
        The review; use it in a `with` statement, or close it.

    Raises:
        RunError: if the folder holds no review, or another process has it open.

    >>> with open_review("review") as review:  # doctest: +SKIP
    ...     print(review.estimate().f1)
    """
    folder = Path(folder)
    if not is_review(folder):
        raise RunError(f"{folder} holds no review; begin one with roster review MODEL TEXT -o {folder}")
    return Review(folder)


def training_text(run: str | Path) -> str | None:
    """Where the training text of a finished run is; None if the folder is none, or the text is gone."""
    try:
        path = FinishedRun.open(run).data_path
    except RunError:
        return None
    return path if path and Path(path).exists() else None


def _sentences(
    model: object, text: str | Path | Iterable[Any], format: str | None, split: str | None
) -> Iterable[Sentence]:
    """The text to review. That of the run itself is read as its training read it: a folder of `roster label`
    has other files, such as the list of types."""
    if not isinstance(text, str | Path):
        return sentences_of(text)
    own = training_text(model) if isinstance(model, str | Path) else None
    if own is not None and _name(own) == _name(text) and format is None and split in (None, "train"):
        return load_dataset(text).train
    return read(text, format, split=split)


def _name(source: object) -> str:
    """What a review remembers of a model or a text, to refuse another one."""
    return str(Path(source).resolve()) if isinstance(source, str | Path) else "in memory"


def _visible(folder: Path) -> list[str]:
    """Files other than those of a review that was killed while it was made."""
    names = (one.name for one in folder.iterdir())
    return [name for name in names if not name.startswith(".") and name != SENTENCES_FILE]
