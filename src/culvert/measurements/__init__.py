"""Measurements: one file each; ``base`` is the contract, ``registry`` finds them all."""
