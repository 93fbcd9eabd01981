"""Files that Culvert writes, regular files that it reads, and names from others in paths."""
