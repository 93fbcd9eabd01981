"""Culvert, a VPN performance laboratory.

The data goes one way, and the folders follow it::

    study -> plan -> labs -> vpns -> proof -> measurements -> journal -> analysis -> report
"""

from importlib.metadata import version

__version__ = version("culvert")
