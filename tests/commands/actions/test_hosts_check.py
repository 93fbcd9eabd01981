"""What a host is called and reports is shown as it is: it is no markup of the terminal's."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.commands.actions import hosts_check
from culvert.run.hosts_check import HostFound, PairFound

STRANGE = "[/x][red]"


def test_brackets_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    host = HostFound(f"a{STRANGE}", architecture="x86_64", kernel=f"6.1{STRANGE}")
    host.address, host.device = "10.0.0.1/24", f"e{STRANGE}"
    pair = PairFound(host.name, "b", mtu_bytes=1500, rtt_ms=1.0)
    hosts_check._show([host], [pair], Path("hosts.yml"))
    shown = capsys.readouterr().out
    for word in (host.name, host.kernel, host.device, f"{host.name} to b"):
        assert word in shown
