"""What a device carries beside the lab's packets is in none of the lab's counts."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from culvert.errors import ProbeError
from culvert.labs.netns.node import NetnsNode
from culvert.probe.client import Probe
from culvert.probe.results import Accounted, DeviceUse, parse
from culvert.topology.link.spec import ETHERNET_HEADER
from culvert.trial.accounting import begin_accounting
from tests.conftest import LabFactory

OURS, OTHERS, PAYLOAD = 30, 50, 100
IP_BYTES = 20 + 8 + PAYLOAD
FROM_ELSEWHERE = "192.0.2.7"
SEND = """
import socket, sys
address, to, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
    out.bind((address, 0))
    for _ in range(count):
        out.sendto(bytes(size), (to, 9))
"""


def send(node: NetnsNode, source: str, to: str, count: int) -> None:
    node.run([sys.executable, "-c", SEND, source, to, str(count), str(PAYLOAD)])


def counted(node: NetnsNode, to: str, probe: Probe, *, scope: dict[str, Any] | None) -> Accounted:
    """Our datagrams and others', while it is accounted for."""
    device = node.underlay.device
    beside = None if scope is None else {"device": device, "scope": scope}
    task = begin_accounting(probe, [], [device], beside=beside)
    task.ready()
    send(node, str(node.underlay.address.ip), to, OURS)
    send(node, FROM_ELSEWHERE, to, OTHERS)
    return parse(Accounted, task.stop())


@pytest.mark.lab
def test_others_packets_are_in_no_count_of_the_lab(lab: LabFactory) -> None:
    made = lab()
    a, to = made.a, str(made.b.underlay.address.ip)
    a.run(["ip", "address", "add", f"{FROM_ELSEWHERE}/32", "dev", "lo"])
    scope = {"among": [str(a.underlay.address.ip), to]}
    with Probe(a) as probe:
        found = counted(a, to, probe, scope=scope)
        plain = counted(a, to, probe, scope=None)
    assert plain.beside is None
    assert plain.of_the_lab() is plain
    others, device = found.beside, a.underlay.device
    assert others is not None
    # ARP, and what a kernel reports to its neighbours, is others' as well.
    assert others.most.out.packets >= others.least.out.packets >= OTHERS
    assert others.most.out.bytes >= OTHERS * IP_BYTES
    ours = found.of_the_lab().counts(device)
    assert ours.tx_packets == OURS
    assert ours.tx_bytes == OURS * (IP_BYTES + ETHERNET_HEADER)
    assert ours.unsure_tx_bytes == others.most.out.bytes - others.least.out.bytes
    assert found.counts(device).tx_packets >= OURS + OTHERS


@pytest.mark.lab
def test_a_device_that_is_missing_is_named(lab: LabFactory) -> None:
    beside = {"device": "no-such0", "scope": {"among": ["198.18.0.0/16"]}}
    with Probe(lab().a) as probe:
        task = begin_accounting(probe, [], [], beside=beside)
        with pytest.raises(ProbeError, match="no-such0"):
            task.ready()


def test_a_device_that_is_not_the_one_keeps_its_counts() -> None:
    counts = DeviceUse(name="u0", rx_packets=9, rx_bytes=900, tx_packets=7, tx_bytes=700)
    many = {"out": {"packets": 2, "bytes": 100}, "in": {"packets": 1, "bytes": 50}}
    found = Accounted.model_validate(
        {
            "seconds": 1.0,
            "cpus": [],
            "devices": [counts.model_dump()],
            "beside": {"device": "u1", "most": many, "least": many},
        }
    )
    assert found.of_the_lab().counts("u0") == counts
