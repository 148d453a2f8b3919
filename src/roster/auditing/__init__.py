"""`roster audit`: which labels and dictionary entries are wrong or missing, without gold labels."""
