"""``culvert features``: the framework, and the tests that verify its cells."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType

from culvert.analysis.observations import BASELINE
from culvert.errors import UsageError
from culvert.features.framework import Driven, Row, framework
from culvert.features.known import known
from culvert.features.record import read_records
from culvert.features.show import details, overview
from culvert.labs.netns.this_machine import ThisMachine
from culvert.study.table import near
from culvert.vpns import listing


def rows(names: Sequence[str]) -> list[Row]:
    """The framework's rows for VPNs by name or id; all without any. Raises UsageError for an
    unknown name."""
    every = framework(known(), driven(), read_records())
    if not names:
        return every
    by_name = {row.name: row for row in every}
    families = dict.fromkeys(name.split("/", 1)[0].split("+", 1)[0] for name in names)
    for family in families:
        if family not in by_name:
            raise UsageError(f"VPN '{family}'", "is unknown", near(family, by_name))
    return [by_name[family] for family in families]


def driven() -> list[Driven]:
    """Every driver except the baseline, with the versions that are installed here."""
    versions: dict[str, dict[str, str]] = {}
    for row in listing.list_vpns(ThisMachine()):
        name = row.vpn.split("/", 1)[0].split("+", 1)[0]
        if name == BASELINE:
            continue
        found = versions.setdefault(name, {})
        if row.version is not None:
            found[row.vpn] = row.version
    return [Driven(name, found) for name, found in versions.items()]


def shown(found: Sequence[Row], *, in_detail: bool) -> RenderableType:
    """For the terminal."""
    if not in_detail:
        return overview(found)
    return Group(*(details(row) for row in found))
