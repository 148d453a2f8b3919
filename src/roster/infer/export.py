"""A trained model as an ONNX graph, in a folder that `load` takes like any other.

It is compared with the original before it is kept.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from roster.backbone.words import is_word_level
from roster.corpus.io import read
from roster.corpus.sentence import Sentence
from roster.errors import ConfigError, ModelError, RosterError
from roster.files import atomic_folder, write_json
from roster.infer.parity import TOLERANCE, Parity, ParityError, compare
from roster.infer.recogniser import Recogniser
from roster.log import LOGGER
from roster.model.folder import (
    CALIBRATION,
    CARD,
    EXPORTED,
    TRAINED,
    TRANSFORMERS,
    ModelFacts,
    inner_model,
    is_model,
    read_facts,
    write_checksums,
    write_facts,
)

LARGEST = 2**31 - 2**20
"""Bytes that a protocol buffer, and so an ONNX file, can have; a little less, for the graph itself."""
COPIED = ("tokenizer.json", "tokenizer_config.json", "config.toml", CALIBRATION, CARD)


def export(
    model: str | Path,
    folder: str | Path,
    *,
    int8: bool = False,
    gold: Sequence[Sentence] | None = None,
) -> Parity:
    """Writes the model to `folder`, and compares the two on `gold`, or on the bundled sample.

    If that fails, nothing is written to `folder`.
    """
    onnx = _onnx()
    source, target = inner_model(model), Path(folder)
    facts = read_facts(source)
    check_exportable(source, facts)
    check_target(source, target, lambda it: is_model(it) and read_facts(it).layout == EXPORTED)
    from roster.backbone.alignment import Specials
    from roster.backbone.loading import load_tokenizer
    from roster.infer.engine import load_engine
    from roster.infer.torch_engine import TorchEngine
    from roster.methods.registry import head_of

    if head_of(facts.kind).whole or is_word_level(source):
        lstm = "its LSTM goes along a sentence word by word"
        whole = f"it is of the kind {facts.kind}, which decides on all words of a sentence together"
        raise ModelError(
            f"{source} cannot be written as ONNX: {lstm if is_word_level(source) else whole}; only models "
            "that classify words one by one (methods roster, fine-tune, bond), on an encoder of transformers "
            "can be exported; roster predict takes it as it is"
        )
    original = TorchEngine(source, facts, "cpu")
    if sum(x.numel() * x.element_size() for x in _tensors(original.reader)) > LARGEST:
        raise ModelError(f"{source} has more than the two gigabytes of weights that an ONNX file can hold")
    LOGGER.info(f"writing {source} as ONNX, weights in {'int8' if int8 else 'float32'}")
    graph = to_onnx(original.reader, source)
    if int8:
        from roster.infer.int8 import quantize

        quantize(graph)
    specials = facts.specials or Specials.of(load_tokenizer(str(source)))
    with atomic_folder(target) as part:
        for name in COPIED:
            if (source / name).is_file():
                shutil.copyfile(source / name, part / name)
        onnx.save(graph, str(part / "model.onnx"))
        write_facts(part, replace(facts, layout=EXPORTED, specials=specials))
        sentences = list(gold) if gold else sample()
        LOGGER.info(f"comparing both on {sum(map(len, sentences)):,} words")
        parity = compare(Recogniser(original), Recogniser(load_engine(part)), sentences, labelled=bool(gold))
        if not int8 and not parity.logit_difference <= TOLERANCE:
            raise ParityError(
                f"the exported model is not the same: a logit differs by {parity.logit_difference:.2g}, more "
                f"than the {TOLERANCE:g} that rounding explains; nothing was written"
            )
        write_checksums(part)
        write_json(part / "parity.json", {"weights": "int8" if int8 else "float32", **parity.as_dict()})
    return parity


def check_exportable(source: Path, facts: ModelFacts) -> None:
    """Raise `ModelError` unless roster trained the model."""
    if facts.layout == TRANSFORMERS:
        raise ModelError(f"{source} is a model of transformers; roster exports the models that it trained")
    if facts.layout != TRAINED:
        raise ModelError(f"{source} is an export already; export the model that it came from")


def to_onnx(reader: Any, source: Path) -> Any:
    """An `onnx.ModelProto` with inputs `ids`, `mask` [rows, length], `at` [words], and output `logits`."""
    import torch

    ids, mask = torch.ones(2, 7, dtype=torch.long), torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    sizes = {0: torch.export.Dim("rows"), 1: torch.export.Dim("length")}
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                reader,
                (ids, mask, torch.tensor([1, 3, 8])),
                dynamo=True,
                verbose=False,
                input_names=["ids", "mask", "at"],
                output_names=["logits"],
                dynamic_shapes=(sizes, sizes, {0: torch.export.Dim("words")}),
            )
    except Exception as error:  # torch's exporter raises errors of many types
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{source}: torch cannot express this architecture in ONNX ({reason})") from error
    return program.model_proto


@contextlib.contextmanager
def _quiet() -> Any:
    """Suppresses log messages and warnings of torch's exporter."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def check_target(source: Path, target: Path, is_export: Callable[[Path], bool]) -> None:
    """An existing folder is replaced only if it is an export of the same kind."""
    if not target.exists():
        return
    if not target.is_dir():
        raise ConfigError(f"{target} is a file; give a folder to export to")
    if target.resolve() == source.resolve():
        raise ConfigError(f"{target} is the model itself; give another folder to export to")
    if any(target.iterdir()) and not is_export(target):
        raise ConfigError(f"{target} is there and is not an export; give another folder, or remove it")


def _tensors(module: Any) -> Any:
    yield from module.parameters()
    yield from module.buffers()


def sample() -> list[Sentence]:
    with resources.as_file(resources.files("roster") / "sample" / "news.txt") as path:
        return list(read(path, "text"))


def _onnx() -> Any:
    try:
        import onnx
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise RosterError(f'exporting needs {error.name}: pip install "roster-ner[onnx]"') from None
    return onnx
