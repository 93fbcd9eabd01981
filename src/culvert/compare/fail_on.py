"""What a gate fails on."""

from __future__ import annotations

from enum import StrEnum


class FailOn(StrEnum):
    """The least favourable answer that still passes is the one above it."""

    SLOWER = "slower"
    """A head that is slower or does not work."""
    CANNOT_TELL = "cannot-tell"
    """These, and one that cannot be judged, or not as precisely as ``--margin`` requires."""
