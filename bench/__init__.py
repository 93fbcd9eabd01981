"""Culvert's goals, measured against peers in the same run: ``make bench``."""
