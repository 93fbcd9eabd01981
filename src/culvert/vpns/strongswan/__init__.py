"""strongswan."""
