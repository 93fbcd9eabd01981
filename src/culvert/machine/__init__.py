"""This machine: its features, its record, and what a run without root may do."""
