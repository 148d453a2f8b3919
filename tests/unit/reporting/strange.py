"""Words, types and names that are markup, right to left, and emoji; and what later runs keep."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from roster.corpus.dataset import load_dataset
from roster.corpus.sentence import Sentence, Span
from roster.model.decoding import io_classes
from roster.training.run import PREDICTIONS

PER, LOC = "<b>PER&</b>", "_$مكان$"
STRANGE = {
    "Anna": "<script>alert('Anna')</script>",
    "Oslo": "أوسلو",
    "Rome": "Rome\U0001f600",
    "Dora": "&Dora;",
}


def strange(sentence: Sentence) -> Sentence:
    spans = [Span(s.start, s.end, {"PER": PER, "LOC": LOC}[s.label]) for s in sentence.spans or ()]
    return Sentence.from_words([STRANGE.get(word, word) for word in sentence.words], spans)


def add_facts(run: Path, data: Path) -> None:
    """What later runs keep: predictions, the place of the data, labels kept by type."""
    from safetensors.numpy import save_file

    dataset = load_dataset(data)
    classes = io_classes(dataset.train, dataset.types)
    final = np.full((len(classes), 3), 0.05, np.float16)
    final[np.arange(len(classes)), classes] = 0.9
    other = np.roll(final, 1, axis=0)
    tensors = {"member-0": final, "member-1": other, "final": other}
    save_file(
        {
            **{name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()},
            "held_out": np.full(len(classes), -1, np.int16),
            "removed": np.zeros((2, len(classes)), np.uint8),
        },
        run / PREDICTIONS,
    )
    results = json.loads((run / "results.json").read_text())
    results["data"] = {"path": str(data), "fingerprint": dataset.fingerprint()}
    recall = {"value": 0.5, "error": 0.02, "names": 15}
    results["stages"]["mean-of-members"]["hold_out_recall"] = {"all": recall, PER: recall}
    for number in range(2):
        results["stages"][f"member-{number}"]["kept_by_type"] = [
            {"step": step, "types": {PER: 1 - step / 20, LOC: 0.7}, "O": 0.5} for step in (4, 8)
        ]
    (run / "results.json").write_text(json.dumps(results))
