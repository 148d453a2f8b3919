"""The claims of `roster audit` beside gold labels, and the numbers in it chosen by leaving out one text."""
