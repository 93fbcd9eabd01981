"""The catalogue of this Python environment."""

from __future__ import annotations

from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.vpns import registry


def installed_catalogue() -> Catalogue:
    """Measurements and VPNs of this Python environment."""
    return Catalogue(installed_measurements(), lambda word: str(registry.parse(word)))
