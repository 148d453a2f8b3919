"""One file per data format; `roster.corpus.read` and `write` choose among them."""
