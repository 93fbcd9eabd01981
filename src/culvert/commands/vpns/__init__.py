"""Commands on implementations of VPNs."""
