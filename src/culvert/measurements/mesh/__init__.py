"""Measurements of many members together."""
