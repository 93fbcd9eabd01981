"""What leaves a client beside its tunnel."""
