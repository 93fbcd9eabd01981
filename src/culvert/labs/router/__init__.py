"""Routers between nodes: their firewall, NAT and blocks."""
