"""Untrusted files and directories: read without blocking, written without following links."""
