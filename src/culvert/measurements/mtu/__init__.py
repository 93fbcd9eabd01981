"""The largest packets that cross a tunnel, each way."""
