"""Which names of a type may match, and in which case: settings, counts over entries, and the decision."""
