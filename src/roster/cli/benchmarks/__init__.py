"""The benchmarks of `roster benchmark`: the experiments of the paper, and `draw`."""
