"""The service under load: right answers, bounded memory, refusals in place of a queue, an orderly end."""
