"""Hypothesis without deadlines: the first call of a test may import spaCy or pyarrow."""

from hypothesis import settings

settings.register_profile("corpus", deadline=None)
settings.load_profile("corpus")
