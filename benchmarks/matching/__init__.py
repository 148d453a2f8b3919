"""Dictionary matching: our matcher and other libraries on the same names and text."""
