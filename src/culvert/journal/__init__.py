"""The journal: all results of a run in one SQLite file."""
