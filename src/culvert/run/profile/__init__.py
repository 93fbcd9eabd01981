"""Profiles: where the CPU time of a trial goes, as flame graphs. Such trials do not count."""
