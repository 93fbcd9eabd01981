"""wireguard."""
