"""What a VPN's policy permits, and how soon it holds."""
