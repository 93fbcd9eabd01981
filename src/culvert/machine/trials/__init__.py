"""Trials of features, each of which finds out by trying."""
