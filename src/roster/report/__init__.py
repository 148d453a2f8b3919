"""`roster report`: one page on a run."""
