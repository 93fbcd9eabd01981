"""The links between hosts: ways, what is free on them, and their impairment."""
