"""Distant labels: the names of dictionaries, patterns and a knowledge base, found in a corpus.

Data flows through the sub-packages in this order: `entries` (reading dictionaries), `policy` (in which case a
name may match), `compiling` (dictionaries to automata), `matching` (names in sentences, and conflicts between
them), `labelling` (the two passes over a corpus), `output` (files and report). `labels` runs all of it.
"""
