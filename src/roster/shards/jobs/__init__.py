"""What becomes of a shard, one module for each command."""
