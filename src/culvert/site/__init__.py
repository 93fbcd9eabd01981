"""A static site from many runs: pages that open from disk and from any web server."""
