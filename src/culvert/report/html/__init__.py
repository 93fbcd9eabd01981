"""The HTML page, its scripts and the drawn figures."""
