"""Showing it: one HTML file that opens from disk, figures and tables, the terminal."""
