"""Trials between the pods of a cluster."""
