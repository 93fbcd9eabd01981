"""Bundles: a run as one file that shows any change."""
