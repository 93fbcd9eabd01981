"""Commands that measure versions of one VPN."""
