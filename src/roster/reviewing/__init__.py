"""`roster review`: how good a model is, by as few answers of a person as possible."""
