"""Files that others may have prepared: read without waiting, written without following links."""
