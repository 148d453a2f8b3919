"""The two passes over a corpus: one that counts, one that labels; in one process or several."""
