"""What a trial works with: its session, captures, accounting and outcome."""
