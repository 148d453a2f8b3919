"""`roster pretrain`: from plain text to a backbone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from roster.backbone.alignment import Specials
from roster.backbone.loading import load_architecture, load_tokenizer, max_positions
from roster.errors import ConfigError, ModelError, RosterError
from roster.files import atomic_folder, fingerprint, write_json, write_text
from roster.model.hardware import matrix_product_rate
from roster.model.processor import limit_threads
from roster.model.reading import choose_device
from roster.pretraining import card, loop
from roster.pretraining.documents import read_documents, source_fingerprint
from roster.pretraining.folder import PretrainingFolder
from roster.pretraining.initialisation import VOCABULARY, build, shape_words
from roster.pretraining.loop import Progress, Trainer
from roster.pretraining.masked_lm import SplitMaskedLM, set_dropout, size
from roster.pretraining.masking import masker
from roster.pretraining.objective import LossWeights, PretrainingObjective
from roster.pretraining.recentering import recentre
from roster.pretraining.sequences import PackedSequences
from roster.pretraining.settings import PretrainingSettings
from roster.pretraining.tokenizer_structure import tokenizer_fingerprint
from roster.pretraining.tokenizer_training import train_tokenizer
from roster.pretraining.tokens import TokenisedCorpus, token_counts, tokenise
from roster.pretraining.vocabulary_reduction import reduce_vocabulary
from roster.progress import bar

COUNTED = 50_000_000
"""Characters of the corpus that decide which entries a cut vocabulary keeps."""
Log = Callable[[str], None]


def pretrain(
    corpus: Sequence[str | Path], output: str | Path, settings: PretrainingSettings, *, log: Log | None = None
) -> dict[str, Any]:
    """Makes a backbone, or goes on with an unfinished one; returns the last point of its curve."""
    say = log or (lambda line: None)
    paths = [Path(path) for path in corpus]
    check(settings)
    made_from = {"settings": settings.deciding(), "corpus": source_fingerprint(paths)}
    folder = PretrainingFolder.claim(output, made_from)
    try:
        if folder.finished:
            folder.remove_work()
            say(f"{output} is finished; nothing to do")
        else:
            _pretrain(paths, folder, settings, say)
        return folder.curve()[-1]
    except torch.OutOfMemoryError as error:
        raise ModelError(
            f"the device has not enough memory ({str(error).split('. ')[0]}); fewer sequences at once "
            "need less, for example --set at_once=32, and so does a smaller --batch or --length"
        ) from error
    except RosterError:
        folder.abandon()
        raise
    finally:
        folder.close()


def check(settings: PretrainingSettings) -> None:
    """What can be wrong with models that are named is said now, not after an hour of tokenising."""
    named = [load_architecture(name) for name in (settings.start, settings.teacher) if name]
    limits = [max_positions(one) or settings.length for one in named] or [settings.positions]
    if settings.length > min(limits):
        raise ConfigError(
            f"'length' ({settings.length}) is more than the {min(limits)} positions of the model"
        )


def _pretrain(
    paths: Sequence[Path], folder: PretrainingFolder, settings: PretrainingSettings, say: Log
) -> None:
    device = choose_device(settings.device)
    if device.type == "cpu":
        limit_threads()
    tokenizer, kept = _tokenizer(paths, folder.work, settings, say)
    specials = Specials.of(tokenizer)
    tokens = _tokens(paths, folder.work, tokenizer, specials, settings, say)
    start = build(settings, tokenizer, kept)
    say(f"model: {start.told}; {shape_words(start.model.config)}, vocabulary {len(tokenizer):,}, "
        f"{size(start.model) / 1e6:.1f} M weights; device {device}")  # fmt: skip

    model = SplitMaskedLM(start.model.to(device))
    teacher = SplitMaskedLM(start.teacher.to(device).eval().requires_grad_(False)) if start.teacher else None
    set_dropout(model, settings.dropout)
    objective = PretrainingObjective(
        model, teacher, LossWeights.of(settings), settings.hidden_layers == "all"
    ).to(device)

    def rows(of: np.ndarray, batch: int) -> PackedSequences:
        return PackedSequences(
            of, settings.length, specials.prefix, specials.suffix, batch, settings.seed, device
        )

    draw = masker(tokenizer, settings.mask, settings.names, device)
    train = rows(tokens.train, settings.batch)
    trainer = Trainer(objective, draw, train, settings, loop.budget(settings, train.steps))
    if found := folder.load_checkpoint():
        trainer.restore(found[0], Progress(**found[1]))
        say(f"going on after step {trainer.progress.step:,}")
    enough = len(tokens.valid) >= settings.length
    apart = loop.validation(rows(tokens.valid, loop.VALID_ROWS), draw, settings.seed) if enough else []
    if teacher is not None and apart:
        told = loop.evaluate(teacher, apart, settings.precision)
        say(f"teacher: kept apart: loss {told['valid_loss']:.3f}, accuracy {told['valid_accuracy']:.3f}")
    cost = operations(model, teacher, settings.length, draw.count(settings.length)) / settings.length
    peak = matrix_product_rate(settings.device, settings.precision)

    def note(point: dict[str, float]) -> None:
        if "tokens_per_second" in point:
            point["peak_share"] = point["tokens_per_second"] * cost / peak
        folder.write_curve(trainer.progress.curve)
        say(describe(point))

    trainer.run(
        look=lambda: loop.evaluate(model, apart, settings.precision) if apart else {},
        save=lambda: folder.save_checkpoint(trainer.tensors(), asdict(trainer.progress)),
        told=note,
        ticks=ticks,
    )
    if settings.recentres and (factor := recentre(model, loop.last_states(model, train, settings.precision))):
        say(f"last hidden states recentred and scaled by {factor:.2f}; model outputs are unchanged")
    curve = trainer.progress.curve
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    facts = card.facts(model.config, size(model), settings, start.told, tokens.facts, curve, name)
    texts = {
        "README.md": card.card(folder.path.name, facts, settings, curve),
        "curve.svg": card.drawing(curve),
    }
    dtype = torch.float16 if settings.weights == "float16" else torch.float32
    with model.whole() as whole:
        folder.finish(whole, tokenizer, dtype, texts)
    say(f"the backbone is in {folder.path}; try: roster train DATASET -o RUN --backbone {folder.path}")


def operations(model: SplitMaskedLM, teacher: SplitMaskedLM | None, length: int, places: int) -> float:
    """Of one row: forward once, backward twice as much; the teacher only forward."""
    taught = teacher.operations(length, places) if teacher is not None else 0.0
    return 3 * model.operations(length, places) + taught


def describe(point: Mapping[str, float]) -> str:
    parts = [f"step {point['step']:,.0f} ({100 * point['share']:.0f} %)"]
    names = (("guess", "loss"), ("imitate", "imitation"), ("hidden", "states"), ("relations", "relations"))
    parts += [f"{words} {point[name]:.3f}" for name, words in names if point.get(name)]
    if "valid_loss" in point:
        parts.append(f"kept apart: loss {point['valid_loss']:.3f}, accuracy {point['valid_accuracy']:.3f}")
    if "tokens_per_second" in point:
        speed = f"{point['tokens_per_second']:,.0f} tokens/s"
        parts.append(f"{speed} ({100 * point['peak_share']:.0f} % of the peak)")
    return ", ".join(parts)


@contextmanager
def ticks() -> Iterator[Callable[[Progress, float], None]]:
    """A bar for the share of the budget that is spent."""
    shown = bar(description="pre-training", total=1000, unit="thousandth")

    def tick(progress: Progress, share: float) -> None:
        done = int(1000 * share)
        if done > shown.n:
            shown.update(done - shown.n)

    try:
        yield tick
    finally:
        shown.close()


def _tokenizer(
    paths: Sequence[Path], work: Path, settings: PretrainingSettings, say: Log
) -> tuple[Any, np.ndarray | None]:
    """The tokenizer of the result, and what a cut left of the one it was made from."""
    first = settings.teacher or settings.start
    made = work / "tokenizer"
    if first:
        tokenizer = load_tokenizer(first)
        if not settings.vocabulary or settings.vocabulary >= len(tokenizer):
            return tokenizer, None
        if (made / "kept.npy").exists():
            return load_tokenizer(str(made)), np.load(made / "kept.npy")
        counts = token_counts(read_documents(paths), tokenizer, COUNTED)
        cut, kept = reduce_vocabulary(tokenizer, counts, settings.vocabulary)
        say(f"vocabulary: cut from {len(tokenizer):,} to {len(cut):,} entries, which spell "
            f"{100 * counts[kept].sum() / max(1, counts.sum()):.1f} % of the text as before")  # fmt: skip
        _keep(made, cut, kept)
        return cut, kept
    if not (made / "tokenizer.json").exists():
        entries = settings.vocabulary or VOCABULARY
        tokenizer = train_tokenizer(read_documents(paths), entries, settings.tokens)
        tokenizer.model_max_length = settings.positions
        say(f"vocabulary: {len(tokenizer):,} entries learned from the text")
        _keep(made, tokenizer, None)
    return load_tokenizer(str(made)), None


def _keep(folder: Path, tokenizer: Any, kept: np.ndarray | None) -> None:
    with atomic_folder(folder) as part:
        tokenizer.save_pretrained(part)
        write_json(part / "config.json", {"model_type": "bert"})  # so that it loads like any other
        if kept is not None:
            np.save(part / "kept.npy", kept)


def _tokens(
    paths: Sequence[Path],
    work: Path,
    tokenizer: Any,
    specials: Specials,
    settings: PretrainingSettings,
    say: Log,
) -> TokenisedCorpus:
    folder, key = work / "tokens", fingerprint(tokenizer_fingerprint(tokenizer), settings.valid)
    marker = work / "tokens.key"
    if folder.exists() and marker.exists() and marker.read_text(encoding="utf-8") == key:
        return TokenisedCorpus.load(folder)
    if not specials.suffix:
        raise ModelError("the tokenizer ends a sequence with no special token, so documents cannot be parted")
    separator = specials.suffix[-1]
    found = tokenise(
        read_documents(paths), tokenizer, folder, separator=separator, valid_share=settings.valid, log=say
    )
    write_text(marker, key)
    return found
