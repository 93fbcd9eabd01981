"""The papers' own instruments, in place of the probe, to repeat an experiment as published."""
