"""tunnel."""
