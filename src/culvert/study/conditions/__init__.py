"""Conditions of a study: the state of links and nodes in a cell."""
