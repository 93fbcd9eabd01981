"""The catalogue of this Python environment."""

from __future__ import annotations

from culvert.errors import CulvertError
from culvert.study.catalogue import Catalogue, Placing, installed_measurements
from culvert.vpns import registry


def installed_catalogue() -> Catalogue:
    """Measurements and VPNs of this Python environment."""
    return Catalogue(installed_measurements(), lambda word: str(registry.parse(word)), _placing)


def _placing(vpn: str) -> Placing:
    """A driver that cannot be made (options that contradict each other) is placed anywhere: its
    trials tell why they are not possible."""
    try:
        made = registry.create(registry.parse(vpn))
    except CulvertError:
        return Placing()
    return Placing(made.needs, made.most_members())
