"""``culvert compare``: two runs, two versions or two VPNs; the gate of a VPN's CI."""
