"""Culvert, a VPN performance laboratory.

``open`` and ``measure`` give a Run (docs/api.md). The data goes one way, as do the folders::

    study -> plan -> labs -> vpns -> proof -> measurements -> journal -> analysis -> report
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from culvert.api.comparison import Comparison
    from culvert.api.opening import measure
    from culvert.api.opening import open_run as open
    from culvert.api.run import Run
    from culvert.errors import CulvertError

    __version__: str
else:
    _PLACES = {
        "Comparison": "culvert.api.comparison:Comparison",
        "CulvertError": "culvert.errors:CulvertError",
        "Run": "culvert.api.run:Run",
        "measure": "culvert.api.opening:measure",
        "open": "culvert.api.opening:open_run",
    }

    def __getattr__(name):
        """Each when it is needed: reading metadata takes a third of the command's start."""
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415 - see above

            return version("culvert")
        if name in _PLACES:
            from pkgutil import resolve_name  # noqa: PLC0415 - see above

            return resolve_name(_PLACES[name])
        raise AttributeError(name)

    def __dir__():
        return __all__


__all__ = ["Comparison", "CulvertError", "Run", "__version__", "measure", "open"]
