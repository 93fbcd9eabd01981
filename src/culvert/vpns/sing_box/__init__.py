"""sing-box."""
