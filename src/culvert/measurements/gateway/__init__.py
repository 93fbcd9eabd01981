"""Load on one gateway from many clients at once."""
