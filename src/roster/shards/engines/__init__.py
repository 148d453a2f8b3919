"""Where shards are worked on: in this process, in several of this machine, or in a Ray cluster."""
