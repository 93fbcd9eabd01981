"""Tailscale's clients with a Headscale control server and a DERP relay."""
