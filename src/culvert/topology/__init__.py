"""Nodes, their roles, the networks between them, the paths that carry measured traffic. Pure."""
