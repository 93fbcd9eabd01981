"""What ``import culvert`` offers to Python programs and notebooks: docs/api.md.

Thin above analysis and report. ``culvert.__all__`` is all of it; the modules here are private.
"""
