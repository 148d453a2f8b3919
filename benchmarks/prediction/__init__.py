"""Prediction: trained models, the transformers pipeline and spaCy on the same text."""
