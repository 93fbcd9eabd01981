"""``culvert compare``: two runs, two versions or two VPNs; for the CI of a VPN."""
