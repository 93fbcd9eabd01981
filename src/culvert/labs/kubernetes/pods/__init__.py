"""Pods as the nodes of a lab."""
