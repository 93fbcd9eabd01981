"""What a run prints: its progress, and its outcome."""
