"""Measurements of a cluster itself."""
