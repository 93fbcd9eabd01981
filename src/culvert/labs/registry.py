"""The installed labs, by the entry points ``culvert.labs``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from culvert.errors import UsageError
from culvert.labs.kind import LabKind, OnThisMachine

GROUP = "culvert.labs"
DEFAULT = "netns"


@cache
def names() -> tuple[str, ...]:
    """All of them, the default first."""
    return tuple(sorted(_points(), key=lambda name: (name != DEFAULT, name)))


@cache
def lab_kind(name: str) -> type[LabKind]:
    """Raises UsageError for a lab that is unknown, or that cannot be loaded."""
    point = _points().get(name)
    if point is None:
        raise UsageError(f"lab '{name}'", "is unknown", f"use {', '.join(names())}")
    origin = point.dist.name if point.dist is not None else point.value
    try:
        kind = point.load()
    except Exception as error:  # third-party code may raise anything while it is imported
        raise UsageError(
            f"lab '{name}'",
            f"{point.value} cannot be loaded: {error}",
            f"update or remove the package {origin}",
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, LabKind) and kind.name == name):
        raise UsageError(
            f"lab '{name}'",
            f"{point.value} is not a LabKind of this name",
            f"update or remove the package {origin}",
        )
    return kind


def recorded_kind(name: str) -> type[LabKind] | None:
    """The lab of an existing run; None if it is not installed here."""
    try:
        return lab_kind(name)
    except UsageError:
        return None


def on_this_machine(name: str) -> bool:
    """Whether the nodes of that lab's runs shared one kernel and its processors."""
    kind = recorded_kind(name)
    return kind is not None and issubclass(kind, OnThisMachine)


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
