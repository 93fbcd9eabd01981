"""Commits of a VPN's source: built, and measured against each other."""
