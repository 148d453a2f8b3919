"""Mentions in sentences, by dictionary, pattern or capital letters, and which of them become labels."""
