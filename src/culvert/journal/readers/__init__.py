"""Readers of other tools' results, which are imported into a journal."""
