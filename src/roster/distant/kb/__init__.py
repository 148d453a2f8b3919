"""Types for candidates from a knowledge base: a local store or a SPARQL endpoint."""
