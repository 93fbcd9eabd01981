"""Published data sets with their own tables and names."""
