"""underlay."""
