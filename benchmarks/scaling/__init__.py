"""Shards here and on Ray: rates, overhead by shard size, a model of the time, and faults."""
