"""Fuzzing: hostile input for everything that reads a file, runs over text, or parses a request.

A target takes bytes. It either raises a `RosterError` with a message, or gives a result that is checked; any
other exception, a hang or much memory is a crash. `python -m fuzz --help` has the options.
"""
