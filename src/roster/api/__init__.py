"""The functions of `import roster`, one module for each step. The commands call the same functions.

`roster/__init__.py` lists them, and imports a module when one of its functions is first used.
"""
