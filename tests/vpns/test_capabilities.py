"""Daemons of VPNs have the capabilities that their drivers declare, and no others."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from culvert.labs.capability import TUNNEL, Capability
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.runid import new_run_id
from culvert.topology.shapes import mesh, pair, serving
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.contract.observe import processes_in
from culvert.waiting import wait_until

from .tunnels import bring_up, driver, skip_reason

IDS = [str(vpn_id) for vpn_id in registry.all_variants()]
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


def sets_of(pid: int) -> dict[str, int]:
    """The capability sets of a process, as bit masks."""
    text = Path(f"/proc/{pid}/status").read_text()
    return {name: int(mask, 16) for name, mask in re.findall(r"(Cap\w+):\s*([0-9a-f]+)", text)}


def mask(capabilities: frozenset[Capability]) -> int:
    return sum(1 << capability for capability in capabilities)


def daemons(node: Node) -> dict[int, str]:
    assert hasattr(node, "netns_path")
    return processes_in(node.netns_path.stat().st_ino)


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("wireguard", {Capability.NET_ADMIN}),
        ("openvpn", {Capability.NET_ADMIN}),
        ("nebula", {Capability.NET_ADMIN}),
        ("strongswan", {Capability.NET_ADMIN, Capability.NET_BIND_SERVICE}),
        ("headscale", {Capability.NET_ADMIN}),
        ("netbird", {Capability.NET_ADMIN}),
        ("netmaker", {Capability.NET_ADMIN}),
        ("zerotier", {Capability.NET_ADMIN}),
        ("easytier", {Capability.NET_ADMIN}),
    ],
)
def test_a_driver_declares_no_more_than_its_programs_need(
    name: str, needed: set[Capability]
) -> None:
    """Found by leaving out one after another; without any of these no tunnel comes up."""
    assert registry.installed().driver(name).capabilities == needed


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("headscale", set()),
        ("easytier", set()),
        ("netbird", set()),
        ("netmaker", {Capability.NET_BIND_SERVICE}),
        ("zerotier", {Capability.NET_BIND_SERVICE}),
    ],
)
def test_servers_and_relays_have_less(name: str, needed: set[Capability]) -> None:
    """Members come up and reach each other, direct and relayed, with these."""
    assert registry.installed().driver(name).server_capabilities == frozenset(needed)


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("text", IDS)
def test_no_daemon_has_more_than_its_driver_declares(text: str) -> None:
    if lacks := skip_reason(text):
        pytest.skip(lacks)
    vpn = driver(text)
    spec = LabSpec(topology=serving(mesh(2) if vpn.needs else pair(), vpn.needs))
    with NetnsLab(new_run_id(), spec) as lab:
        try:
            bring_up(vpn, lab)
            started = {one.pid for each in vpn.processes.values() for one in each if one.alive()}
            found = {
                pid: (name, mask(vpn.capabilities_on(node)))
                for node in lab.nodes.values()
                for pid, name in daemons(node).items()
                if os.getsid(pid) in started  # and no client of Culvert's own
            }
            assert started <= found.keys()
            for pid, (name, most) in found.items():
                wide = {each: hex(bits) for each, bits in sets_of(pid).items() if bits & ~most}
                assert not wide, name
        finally:
            vpn.stop(lab)


@pytest.mark.lab
def test_a_daemon_has_what_it_is_given_and_its_children_no_more() -> None:
    given = frozenset({Capability.NET_RAW, Capability.SETUID})
    with NetnsLab(new_run_id(), LabSpec()) as lab:
        words = ["sh", "-c", "cat /proc/self/status; exec sleep 1000"]
        process = lab.a.daemon(words, name="daemon", capabilities=given)
        expected = dict.fromkeys(("CapPrm", "CapEff", "CapBnd"), mask(given))
        assert sets_of(process.pid) == dict.fromkeys(SETS, 0) | expected
        plain = lab.a.spawn(["sleep", "1000"], name="plain")
        assert sets_of(plain.pid)["CapBnd"] & mask(TUNNEL) == mask(TUNNEL)
        assert sets_of(plain.pid)["CapBnd"] == sets_of(os.getpid())["CapBnd"]


@pytest.mark.lab
def test_a_daemon_cannot_do_what_it_may_not() -> None:
    with NetnsLab(new_run_id(), LabSpec()) as lab:
        code = "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"
        process = lab.a.daemon(
            [sys.executable, "-c", code], name="raw", capabilities=frozenset({Capability.NET_ADMIN})
        )
        wait_until(lambda: not process.alive(), what="its end", deadline_s=10.0)
        assert process.returncode() == 1
        assert "PermissionError" in process.log_text()
