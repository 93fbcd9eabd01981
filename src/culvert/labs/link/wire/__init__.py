"""The emulated link: its cables, its program and what it counts."""
