"""The documentation as a site: what of it is generated, and how pages of the repository become pages of it.

`mkdocs build` (see `make docs`) runs `manual.hooks`. `python -m manual` draws the figures again.
"""
