"""Numbers of the paper and of those it compares with, to stand beside ours. Precision, recall, F1."""

from __future__ import annotations

Triple = tuple[float | None, float | None, float]

MAIN: dict[str, dict[str, Triple]] = {
    "conll03": {
        "distant-match": (0.811, 0.638, 0.714),
        "fine-tune": (0.837, 0.633, 0.721),
        "autoner": (0.752, 0.604, 0.670),
        "bond": (0.821, 0.809, 0.815),
        "roster": (0.859, 0.849, 0.854),
        "bilstm-crf-gold": (0.914, 0.911, 0.912),
        "fine-tune-gold": (0.906, 0.917, 0.912),
    },
    "ontonotes5": {
        "distant-match": (0.745, 0.693, 0.718),
        "fine-tune": (0.760, 0.715, 0.737),
        "autoner": (0.731, 0.712, 0.721),
        "bond": (0.774, 0.701, 0.736),
        "roster": (0.753, 0.789, 0.771),
        "bilstm-crf-gold": (0.888, 0.887, 0.887),
        "fine-tune-gold": (0.886, 0.890, 0.888),
    },
    "wikigold": {
        "distant-match": (0.479, 0.476, 0.478),
        "fine-tune": (0.603, 0.532, 0.565),
        "autoner": (0.435, 0.524, 0.475),
        "bond": (0.534, 0.686, 0.600),
        "roster": (0.649, 0.710, 0.678),
        "bilstm-crf-gold": (0.554, 0.543, 0.549),
        "fine-tune-gold": (0.853, 0.876, 0.864),
    },
    # Not of the paper, but of AutoNER's: its own method, its dictionary, and a supervised one.
    "bc5cdr": {
        "distant-match": (0.939, 0.584, 0.720),
        "autoner": (None, None, 0.848),
        "fine-tune-gold": (None, None, 0.8696),
    },
}
ROBERTA, BILSTM = "RoBERTa-base", "a BiLSTM"
ENCODERS = {
    "fine-tune": ROBERTA,
    "autoner": BILSTM,
    "bond": ROBERTA,
    "roster": ROBERTA,
    "bilstm-crf-gold": BILSTM,
    "fine-tune-gold": ROBERTA,
}
"""Under the figures of MAIN. The paper has RoBERTa for baselines too, but AutoNER is its authors' program."""
OTHERS = {("bc5cdr", "fine-tune-gold")}
"""Figures of models that are older than RoBERTa, whose encoders are not listed."""
ABLATION = {
    "conll03": {
        "full": 0.854,
        "without GCE": 0.830,
        "without noise removal": 0.833,
        "without self-training": 0.828,
    }
}
ENSEMBLE = {"conll03": {"with ensemble": (0.828, 0.009), "without ensemble": (0.817, 0.025)}}
"""Mean and deviation of five runs, before self-training."""
LATER = {"conll03": {"SCDL": 0.837, "ATSEN": 0.856, "SANTA": 0.866, "CuPUL with self-training": 0.866}}
"""Later methods on the same labels. ATSEN's own log gives .854 when it is selected on dev instead of test."""
GOLD_WORTH = {"conll03": 1000}
"""About so many gold sentences the paper's RoSTER is worth."""


def encoder(data: str, arm: str) -> str | None:
    """What a figure of MAIN was measured with; None where there is no figure, no encoder, or none known."""
    known = arm in MAIN.get(data, {}) and (data, arm) not in OTHERS
    return ENCODERS.get(arm) if known else None
