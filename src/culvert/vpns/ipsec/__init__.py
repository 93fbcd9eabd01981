"""ipsec."""
