"""Tiny models of each kind, saved to folders, and a corpus that they know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roster.corpus.sentence import Sentence
from roster.corpus.tokenizer import split
from tests.conftest import OTHERS, PEOPLE, PLACES


@pytest.fixture(scope="package")
def sentences() -> list[Sentence]:
    """Two sentences of one text, one without words, one with words of its own."""
    return [
        *split("Anna went to Oslo. Then Carl Berg saw Bonn."),
        Sentence((), (), ""),
        Sentence.from_words(["Dora", "and", "Rome"]),
    ]


@pytest.fixture(scope="package")
def classifier(tokenizers: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer for token classification, trained until it knows the names."""
    import torch
    from transformers import BertConfig, BertForTokenClassification

    tokenizer, tags = tokenizers["wordpiece"], ["O", "B-PER", "I-PER", "B-LOC"]
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=32, hidden_dropout_prob=0,
                        id2label=dict(enumerate(tags)))  # fmt: skip
    model = BertForTokenClassification(config)
    rows = [("Anna Berg went to Oslo", "1 2 0 0 3"), ("Then Carl Berg saw Bonn .", "0 1 2 0 3 0")]
    rows += [(name, "1") for name in PEOPLE] + [(name, "3") for name in PLACES]
    rows += [
        (f"{word} {name} .", f"0 {tag} 0") for word in OTHERS for name, tag in (("Dora", 1), ("Rome", 3))
    ]
    texts, labels = [text.split() for text, _ in rows], [[*map(int, tag.split())] for _, tag in rows]
    batch = tokenizer(texts, is_split_into_words=True, padding=True, return_tensors="pt")
    target = torch.tensor([
        [-100 if w is None else labels[i][w] for w in batch.word_ids(i)] for i in range(len(rows))
    ])  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), 5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        model(**batch, labels=target).loss.backward()
        optimiser.step()
    folder = tmp_path_factory.mktemp("classifier") / "tagger"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="package")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A blank spaCy pipeline with rules for entities."""
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([
        {"label": "PERSON", "pattern": "Carl Berg"},
        {"label": "PERSON", "pattern": "Anna"},
        {"label": "GPE", "pattern": [{"LOWER": {"IN": ["oslo", "rome"]}}]},
    ])  # fmt: skip
    folder = tmp_path_factory.mktemp("spacy") / "rules"
    nlp.to_disk(folder)
    return folder
