"""One short module for each kind of benchmark: parse, call, give out."""
