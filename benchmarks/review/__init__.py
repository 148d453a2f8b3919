"""Coverage of the intervals of `roster review`, and the answers that it needs, simulated on gold labels."""
