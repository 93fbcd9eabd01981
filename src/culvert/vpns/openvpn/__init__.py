"""openvpn."""
