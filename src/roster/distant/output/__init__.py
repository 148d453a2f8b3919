"""What is written: the labelled sentences, their provenance, and the report."""
