"""What rounds of repair of the labels bring, and what a few answers of a person bring."""
