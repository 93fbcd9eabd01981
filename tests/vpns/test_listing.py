"""What ``culvert vpns`` says of a driver that cannot be used."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from culvert.labs.this_machine import ThisMachine
from culvert.vpns import listing, registry
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import Variant


class Broken(NoVpn):
    """Its author mistook a name."""

    name = "broken"
    variants = (Variant("default", "of a stranger"),)

    @property
    def data_path(self) -> Any:
        return NoVpn.variants[0].data_path_of_another_version  # type: ignore[attr-defined]


def test_a_driver_that_raises_is_listed_with_its_file_and_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = registry.installed()
    drivers: dict[str, type[Vpn]] = {"none": known.drivers["none"], "broken": Broken}
    monkeypatch.setattr(registry, "installed", lambda: replace(known, drivers=drivers))
    rows = {row.vpn: row for row in listing.list_vpns(ThisMachine())}
    (why,) = rows["broken/default"].missing
    assert "data_path raised AttributeError: 'Variant' object has no attribute" in why["what"]
    assert f"(raised at {__file__}:" in why["what"]
    assert why["remedy"] == "correct the driver; then: culvert vpns check broken/default"
    assert not rows["none"].missing


def test_parts_with_one_remedy_are_listed_together() -> None:
    missing = [
        {"what": "one", "remedy": "install both"},
        {"what": "other", "remedy": "install both"},
        {"what": "tun", "remedy": "modprobe tun"},
    ]
    row = listing.Row("v/default", "a VPN", "user space", {}, {}, None, missing)
    console = Console(width=200, record=True, file=StringIO())
    console.print(listing.table([row]))
    assert "one, other (install both); tun (modprobe tun)" in console.export_text()
