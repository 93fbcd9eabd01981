"""WireGuard, and what VPNs that manage it have in common."""
