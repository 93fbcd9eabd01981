"""The framework of features: what a VPN can do, each cell verified, documented or unknown."""
