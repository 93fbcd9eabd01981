"""What strongswan, xfrm and gre have in common."""
