"""Speed and memory of roster, and of other programs for the same task, on this machine.

Run from the root of the repository: `python -m benchmarks matching --help`. Not a part of the wheel.
"""
