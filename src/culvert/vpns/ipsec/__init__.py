"""What strongswan, xfrm and gre have in common, and the driver xfrm."""
