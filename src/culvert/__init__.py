"""Culvert, a VPN performance laboratory.

The data goes one way, and the folders follow it::

    study -> plan -> labs -> vpns -> proof -> measurements -> journal -> analysis -> report
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name):
        """``__version__``, when it is needed: reading metadata takes a third of the start."""
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415 - see above

            return version("culvert")
        raise AttributeError(name)
