"""VPNs: one file per implementation; ``base`` is the contract, ``registry`` finds them all."""
