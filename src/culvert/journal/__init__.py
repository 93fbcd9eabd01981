"""The journal: everything that a run measured, in one SQLite file."""
