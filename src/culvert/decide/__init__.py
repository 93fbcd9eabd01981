"""Decisions: which VPNs differ, and which is best. Pure: arrays and numbers in, decisions out.

``decide`` compares VPNs measured in the same blocks; ``contrast`` compares two series.
"""
