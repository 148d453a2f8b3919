"""Self-contained HTML pages: the audit and the report of a run."""
