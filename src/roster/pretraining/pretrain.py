"""`roster pretrain`: train a backbone on plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roster.backbone.alignment import Specials
from roster.backbone.loading import load_architecture, max_positions
from roster.errors import ConfigError, ModelError, RosterError
from roster.model.hardware import matrix_product_rate
from roster.model.processor import limit_threads
from roster.model.reading import choose_device
from roster.pretraining import card
from roster.pretraining.documents import source_fingerprint
from roster.pretraining.evaluation import VALID_ROWS, evaluate, last_states, validation_batches
from roster.pretraining.folder import PretrainingFolder
from roster.pretraining.initialisation import build, shape_words
from roster.pretraining.loop import Progress, Trainer, budget
from roster.pretraining.masked_lm import SplitMaskedLM, set_dropout, size
from roster.pretraining.masking import masker
from roster.pretraining.objective import LossWeights, PretrainingObjective
from roster.pretraining.preparation import Log, prepare_tokenizer, prepare_tokens
from roster.pretraining.recentering import recentre
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings
from roster.progress import bar


def pretrain(
    corpus: Sequence[str | Path], output: str | Path, settings: PretrainingSettings, *, log: Log | None = None
) -> dict[str, Any]:
    """Train a backbone, or resume an unfinished pre-training.

    Parameters:
        corpus: text files, compressed or not, or folders of them.
        output: folder for the backbone. An unfinished pre-training with the same settings on the same corpus
            is resumed; a finished one is left as it is.
        settings: see `load_settings`.
        log: called with each line about the progress.

    Returns:
        The last point of the curve: step, loss and scores.

    Raises:
        RosterError: the corpus, the settings or the output folder cannot be used.
    """
    log = log or (lambda line: None)
    paths = [Path(path) for path in corpus]
    check(settings)
    made_from = {"settings": settings.deciding(), "corpus": source_fingerprint(paths)}
    folder = PretrainingFolder.claim(output, made_from)
    try:
        if folder.finished:
            folder.remove_work()
            log(f"{output} is finished; nothing to do")
        else:
            _pretrain(paths, folder, settings, log)
        return folder.curve()[-1]
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"the device is out of memory ({str(error).split('. ')[0]}); use fewer sequences per forward "
            "pass, for example --set at_once=32, or a smaller --batch or --length"
        ) from error
    except RosterError:
        folder.abandon()
        raise
    finally:
        folder.close()


def check(settings: PretrainingSettings) -> None:
    """Check the models in the settings, because an error after the tokenisation may come an hour later.

    Raises:
        ConfigError: the models have fewer positions than the sequences.
        ModelError: a model cannot be found.
    """
    named = [load_architecture(name) for name in (settings.start, settings.teacher) if name]
    limits = [max_positions(one) or settings.length for one in named] or [settings.positions]
    if settings.length > min(limits):
        raise ConfigError(
            f"'length' ({settings.length}) is more than the {min(limits)} positions of the model"
        )


def _pretrain(
    paths: Sequence[Path], folder: PretrainingFolder, settings: PretrainingSettings, log: Log
) -> None:
    device = choose_device(settings.device)
    if device.type == "cpu":
        limit_threads()
    tokenizer, kept = prepare_tokenizer(paths, folder.work, settings, log)
    specials = Specials.of(tokenizer)
    tokens = prepare_tokens(paths, folder.work, tokenizer, specials, settings, log)
    initial = build(settings, tokenizer, kept)
    log(f"model: {initial.description}; {shape_words(initial.model.config)}, vocabulary {len(tokenizer):,}, "
        f"{size(initial.model) / 1e6:.1f} M weights; device {device}")  # fmt: skip

    model = SplitMaskedLM(initial.model.to(device))
    teacher = None
    if initial.teacher:
        teacher = SplitMaskedLM(initial.teacher.to(device).eval().requires_grad_(False))
    set_dropout(model, settings.dropout)
    weights, every_layer = LossWeights.of(settings), settings.hidden_layers == "all"
    objective = PretrainingObjective(model, teacher, weights, every_layer).to(device)

    def rows(ids: np.ndarray, batch: int) -> PackedSequences:
        return PackedSequences(
            ids, settings.length, specials.prefix, specials.suffix, batch, settings.seed, device
        )

    mask = masker(tokenizer, settings.mask, settings.names, device)
    train = rows(tokens.train, settings.batch)
    trainer = Trainer(objective, mask, train, settings, budget(settings, train.steps))
    if checkpoint := folder.load_checkpoint():
        tensors, progress = checkpoint
        trainer.restore(tensors, Progress(**progress))
        log(f"resuming after step {trainer.progress.step:,}")
    validation = []
    if len(tokens.valid) >= settings.length:
        validation = validation_batches(rows(tokens.valid, VALID_ROWS), mask, settings.seed)
    if teacher is not None and validation:
        scores = evaluate(teacher, validation, settings.precision)
        log(f"teacher: {describe_validation(scores)}")
    cost = operations(model, teacher, settings.length, mask.count(settings.length)) / settings.length
    peak = matrix_product_rate(settings.device, settings.precision)

    def report(point: dict[str, float]) -> None:
        if "tokens_per_second" in point:
            point["peak_share"] = point["tokens_per_second"] * cost / peak
        folder.write_curve(trainer.progress.curve)
        log(describe(point))

    trainer.run(
        evaluate=lambda: evaluate(model, validation, settings.precision) if validation else {},
        save=lambda: folder.save_checkpoint(trainer.tensors(), asdict(trainer.progress)),
        report=report,
        progress_bar=progress_bar,
    )
    if settings.recentres and (factor := recentre(model, last_states(model, train, settings.precision))):
        log(f"last hidden states recentred and scaled by {factor:.2f}; model outputs are unchanged")
    curve = trainer.progress.curve
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    facts = card.facts(model.config, size(model), settings, initial.description, tokens.facts, curve, name)
    texts = {
        "README.md": card.card(folder.path.name, facts, settings, curve),
        "curve.svg": card.drawing(curve),
    }
    dtype = torch.float16 if settings.weights == "float16" else torch.float32
    folder.finish(initial.model, tokenizer, dtype, texts)
    log(f"the backbone is in {folder.path}; try: roster train DATASET -o RUN --backbone {folder.path}")


def operations(model: SplitMaskedLM, teacher: SplitMaskedLM | None, length: int, places: int) -> float:
    """Floating-point operations of one row: forward, backward (twice as many), and those of the teacher."""
    teaching = teacher.operations(length, places) if teacher is not None else 0.0
    return 3 * model.operations(length, places) + teaching


def describe_validation(scores: Mapping[str, float]) -> str:
    """
    >>> describe_validation({"valid_loss": 2.5, "valid_accuracy": 0.5})
    'validation loss 2.500, accuracy 0.500'
    """
    return f"validation loss {scores['valid_loss']:.3f}, accuracy {scores['valid_accuracy']:.3f}"


def describe(point: Mapping[str, float]) -> str:
    """Return a point of the curve as a line of the log."""
    parts = [f"step {point['step']:,.0f} ({100 * point['share']:.0f} %)"]
    names = (("guess", "loss"), ("imitate", "distillation"), ("hidden", "states"), ("relations", "relations"))
    parts += [f"{words} {point[name]:.3f}" for name, words in names if point.get(name)]
    if "valid_loss" in point:
        parts.append(describe_validation(point))
    if "tokens_per_second" in point:
        speed = f"{point['tokens_per_second']:,.0f} tokens/s"
        parts.append(f"{speed} ({100 * point['peak_share']:.0f} % of the peak)")
    return ", ".join(parts)


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress, float], None]]:
    """A progress bar for the share of the budget that is spent."""
    shown = bar(description="pre-training", total=1000, unit="thousandth")

    def tick(progress: Progress, share: float) -> None:
        done = int(1000 * share)
        if done > shown.n:
            shown.update(done - shown.n)

    try:
        yield tick
    finally:
        shown.close()
