"""What ``culvert vpns`` shows: every variant, and whether it can run here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from culvert.errors import CulvertError
from culvert.labs.host import Host
from culvert.vpns import registry


@dataclass(frozen=True)
class Row:
    """One variant. ``missing`` is empty where it can run; ``version`` then names the program."""

    vpn: str
    summary: str
    data_path: str
    options: dict[str, str]
    facts: dict[str, str]
    version: str | None
    missing: list[dict[str, str]]

    @property
    def ready(self) -> bool:
        return not self.missing

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ready": self.ready}


def list_vpns(host: Host) -> list[Row]:
    """Every variant of every driver, also with options that make it a different VPN. A broken
    driver has one row with the reason."""
    rows = [_row_whatever_happens(vpn_id, host) for vpn_id in listed()]
    for name, error in registry.installed().broken.items():
        rows.append(_broken(name, error))
    return rows


def listed() -> list[registry.VpnId]:
    """Every variant, each followed by the same with options that make it a different VPN."""
    return [each for vpn_id in registry.all_variants() for each in (vpn_id, *_with_options(vpn_id))]


def _with_options(vpn_id: registry.VpnId) -> Iterator[registry.VpnId]:
    driver = registry.installed().drivers[vpn_id.name]
    return (replace(vpn_id, options=frozenset({each})) for each in driver.listed_with)


def _row_whatever_happens(vpn_id: registry.VpnId, host: Host) -> Row:
    """An error of a driver affects only its own rows."""
    try:
        return _row(vpn_id, host)
    except CulvertError as error:
        return _broken(str(vpn_id), error)


def _broken(name: str, error: CulvertError) -> Row:
    why = {"what": str(error), "remedy": error.remedy}
    return Row(name, "a driver that cannot be used", "", {}, {}, None, [why])


def _row(vpn_id: registry.VpnId, host: Host) -> Row:
    vpn = registry.create(vpn_id)
    missing = [{"what": each.what, "remedy": each.remedy} for each in vpn.missing(host)]
    version = None
    if not missing:
        try:
            version = vpn.version(host)
        except CulvertError as error:
            missing = [{"what": str(error), "remedy": error.remedy}]
    return Row(
        str(vpn_id),
        vpn.variant.summary,
        str(vpn.data_path),
        {name: text for name, text in vpn.options.items() if name not in vpn.chosen},
        dict(vpn.variant.facts),
        version,
        missing,
    )


def table(rows: list[Row]) -> Table:
    """For the terminal."""
    shown = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("VPN", "here", "data path", "options", "version, or what is missing"):
        shown.add_column(column, overflow="fold")
    for row in rows:
        detail = row.version or ""
        if row.missing:
            lacks: dict[str, list[str]] = {}
            for each in row.missing:
                lacks.setdefault(each["remedy"], []).append(each["what"])
            detail = "; ".join(f"{', '.join(what)} ({remedy})" for remedy, what in lacks.items())
        shown.add_row(
            row.vpn,
            "[green]ready[/]" if row.ready else "[yellow]missing[/]",
            row.data_path,
            " ".join(f"+{option}" for option in row.options),
            Text(detail),
        )
    return shown
