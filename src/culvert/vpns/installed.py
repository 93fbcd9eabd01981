"""The catalogue of this Python environment."""

from __future__ import annotations

from culvert.errors import CulvertError
from culvert.study.catalogue import Catalogue, Placing, installed_measurements
from culvert.vpns import registry
from culvert.vpns.abilities import most_members


def installed_catalogue() -> Catalogue:
    """Measurements and VPNs of this Python environment."""
    return Catalogue(installed_measurements(), lambda word: str(registry.parse(word)), _placing)


def _placing(vpn: str) -> Placing:
    """A driver that cannot be created (its options contradict each other) may be placed anywhere:
    its trials report why they are not possible."""
    try:
        made = registry.create(registry.parse(vpn))
    except CulvertError:
        return Placing()
    return Placing(made.needs, most_members(made), made.underlays)
