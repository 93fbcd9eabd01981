"""Two runs or two VPNs against each other: faster, slower, same, cannot tell."""
