"""What many clients send into a queue that is full."""

from __future__ import annotations

import json

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.probe.client import Probe
from culvert.probe.results import parse
from culvert.probe.results.crowd import CrowdSent, CrowdSunk
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec

MARKS = {"token": "000102030405060708090a0b0c0d0e0f", "canary": 16 * "5a"}
TOKEN_BUCKET = ["tbf", "rate", "20mbit", "burst", "5k", "limit", "10k"]


def dropped(node: Node) -> int:
    """Packets that the queue of its device refused."""
    shown = node.run(["tc", "-s", "-j", "qdisc", "show", "dev", node.underlay.device]).stdout
    (queue,) = json.loads(shown)
    return int(queue["drops"])


@pytest.mark.lab
@pytest.mark.parametrize("rate_pps", [None, 2000])
def test_each_packet_that_a_full_queue_refuses_is_offered(rate_pps: int | None) -> None:
    with NetnsLab(new_run_id(), LabSpec()) as lab, Probe(lab.a) as a, Probe(lab.b) as b:
        device, to = lab.a.underlay.device, str(lab.b.underlay.address.ip)
        added = lab.a.run(["tc", "qdisc", "add", "dev", device, "root", *TOKEN_BUCKET], check=False)
        if added.returncode != 0:
            pytest.skip("the kernel has no token bucket")
        sink = b.begin(
            "crowd_sink",
            protocol="udp",
            **MARKS,
            members=[{"bind": to}] * 4,
            duration_max_s=20,
            interval_ms=100,
            quiet_ms=200,
        )
        members = [
            {"bind": str(lab.a.underlay.address.ip), "to": to, "port": port}
            for port in sink.ready()["ports"]
        ]
        source = a.begin(
            "crowd_source",
            protocol="udp",
            **MARKS,
            members=members,
            rate_pps=rate_pps,
            payload_size=1000,
            segmentation="none",
            duration_s=0.5,
        )
        source.ready()
        source.begin_at(0)
        sent = parse(CrowdSent, source.result(10.0))
        sunk = parse(CrowdSunk, sink.stop())
        offered = sum(each.offered for each in sent.members)
        arrived = sum(each.unique for each in sunk.members)
        assert arrived > 0
        assert offered - arrived == dropped(lab.a) > 100
