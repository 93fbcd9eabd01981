"""The client of ``culvert-probe agent``: JSON lines over the pipes of a process on a node."""
