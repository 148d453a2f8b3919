"""Time and memory of a command before it does any work."""
