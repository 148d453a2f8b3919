"""Time of one training step: plain, compiled by torch.compile, and captured."""
