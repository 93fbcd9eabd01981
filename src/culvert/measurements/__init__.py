"""Measurements: a file or a folder each; ``base`` is the contract."""
