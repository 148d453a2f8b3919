"""Sentences, spans, data sets and file formats."""

from roster.corpus.dataset import Dataset, load_dataset
from roster.corpus.io import FORMATS, detect, read, write
from roster.corpus.sentence import Sentence, Span

__all__ = ["FORMATS", "Dataset", "Sentence", "Span", "detect", "load_dataset", "read", "write"]
