"""Time and memory of whole training runs."""
