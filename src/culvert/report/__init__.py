"""The report: one HTML file that opens from disk, figures and tables, the terminal summary."""
