"""Recognisers inside other libraries.

Each module imports its library; `import roster` imports none of them.
"""
