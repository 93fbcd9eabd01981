"""Bundles: a run as one file in which every change is detected."""
