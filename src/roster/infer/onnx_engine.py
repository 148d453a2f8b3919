"""An exported model, read with ONNX Runtime on the CPU. Neither torch nor transformers is imported."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np

from roster.errors import ConfigError, ModelError, RosterError
from roster.infer.engine import InferenceEngine, encoder_of
from roster.infer.onnx_file import check_one_file
from roster.model.folder import ModelFacts
from roster.model.processor import cores

# Fused with the addition before it, a layer norm takes six times as long as both alone.
SLOW_FUSIONS = ["SkipLayerNormFusion"]


class OnnxEngine(InferenceEngine):
    def __init__(self, folder: Path, facts: ModelFacts, device: str = "auto"):
        if device not in ("auto", "cpu"):
            raise ConfigError(
                f"an exported model runs on the CPU, not on '{device}'; use the model it was made from"
            )
        super().__init__(facts, encoder_of(folder, facts))
        self.session = open_session(folder / "model.onnx")
        self.workers = cores()

    def logits(self, ids: np.ndarray, mask: np.ndarray, at: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.session.run(["logits"], {"ids": ids, "mask": mask, "at": at})[0]
        return found


def open_session(path: Path) -> Any:
    """One thread for each caller: the callers are as many as the cores."""
    try:
        import onnxruntime
    except ImportError:
        raise RosterError('an exported model needs ONNX Runtime: pip install "roster-ner[onnx]"') from None
    if not path.is_file():
        raise ModelError(f"{path} is missing")
    check_one_file(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if clips_sums(platform.machine(), _cpu_info()):
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # its own classes, which derive from nothing but this
        reason = " ".join(str(error).split())[:300]
        raise ModelError(f"{path} is damaged, or made for a newer ONNX Runtime ({reason})") from None


def clips_sums(machine: str, cpu_info: str) -> bool:
    """Whether the processor would clip sums of products of eight bits: an Intel or AMD one without VNNI.

    ONNX Runtime can go round that, at twice the time; it would do so on a processor with VNNI, too.

    >>> clips_sums("x86_64", "flags : avx2 avx512f"), clips_sums("x86_64", "flags : avx2 avx512_vnni")
    (True, False)
    >>> clips_sums("aarch64", "")
    False
    """
    return machine.lower() in ("x86_64", "amd64") and "vnni" not in cpu_info


def _cpu_info() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
