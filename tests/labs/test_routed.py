"""The routed triple: what the firewall lets pass, what it drops, and that it counts both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.router import firewall
from culvert.topology.shapes import routed
from culvert.topology.spec import Allowed, LabSpec
from tests.conftest import LabFactory
from tests.labs.traffic import can_reach, capture, captured_lengths, tcp_pair, udp_pair

pytestmark = pytest.mark.lab
ROUTED = LabSpec(topology=routed())


def _packets(lab: NetnsLab) -> dict[str, int]:
    return firewall.counters(lab.nodes["router"])


def test_traffic_goes_through_the_router_both_ways(lab: LabFactory) -> None:
    triple = lab(ROUTED)
    assert can_reach(triple.a, triple.b, port=5001)
    assert can_reach(triple.b, triple.a, port=5001)
    assert _packets(triple) == {"established": 0, "allowed_0": 2, "dropped": 0}
    devices = {name: [at.device for at in triple.attachments(name)] for name in triple.nodes}
    assert devices == {"a": ["u0"], "router": ["u0", "u1"], "b": ["u0"]}


def test_the_firewall_drops_what_is_not_allowed(lab: LabFactory) -> None:
    triple = lab(replace(ROUTED, firewall=(Allowed("udp", frozenset({5001, 5002})),)))
    assert can_reach(triple.a, triple.b, port=5001)
    assert can_reach(triple.b, triple.a, port=5002)
    assert not can_reach(triple.a, triple.b, port=5003)
    ping = triple.a.run(["ping", "-c1", "-W0.2", str(triple.b.underlay.address.ip)], check=False)
    assert ping.returncode == 1
    assert _packets(triple) == {"established": 0, "allowed_0": 2, "dropped": 2}


def test_what_is_dropped_does_not_arrive(lab: LabFactory) -> None:
    triple = lab(replace(ROUTED, firewall=()))
    with capture(triple.b, "u0") as tap, udp_pair(triple.a, triple.b) as (near, _):
        near.send(b"x")
        assert _packets(triple)["dropped"] == 1
        assert captured_lengths(tap) == []


def test_answers_pass_the_firewall(lab: LabFactory) -> None:
    """An answer's destination port is not on the list; that it is an answer is enough."""
    triple = lab(replace(ROUTED, firewall=(Allowed("tcp", frozenset({5001})),)))
    with tcp_pair(triple.a, triple.b, port=5001) as (near, far):
        far.send(b"answer")
        assert near.recv(10) == b"answer"
    assert _packets(triple)["dropped"] == 0


def test_the_host_cannot_be_reached_through_the_router(lab: LabFactory) -> None:
    assert lab(ROUTED).a.run(["ip", "route"]).stdout.splitlines() == [
        "198.18.0.0/24 dev u0 proto kernel scope link src 198.18.0.1 ",
        "198.18.1.0/24 via 198.18.0.254 dev u0 proto static ",
    ]


def test_the_router_alone_forwards(lab: LabFactory) -> None:
    triple = lab(ROUTED)
    forwards = {
        node.name: node.run(["cat", "/proc/sys/net/ipv4/ip_forward"]).stdout.strip()
        for node in (triple.a, triple.nodes["router"], triple.b)
    }
    assert forwards == {"a": "0", "router": "1", "b": "0"}


def test_without_nft_it_is_not_possible(
    lab: LabFactory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("culvert.tools.SYSTEM_DIRECTORIES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotPossible, match="nft"):
        lab(ROUTED)


def test_ruleset_refuses_by_default() -> None:
    text = firewall.ruleset((Allowed("udp", frozenset({51820, 500})), Allowed("esp")))
    assert "policy drop" in text
    assert 'iifname "u0" oifname "u1" udp dport { 500, 51820 } counter name allowed_0' in text
    assert 'iifname "u1" oifname "u0" meta l4proto esp counter name allowed_1' in text
