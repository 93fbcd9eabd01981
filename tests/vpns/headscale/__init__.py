"""Headscale, Tailscale and DERP."""
