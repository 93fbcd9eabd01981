"""One clear packet among thousands of encrypted ones: whatever the sample, it is found."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from culvert.probe.results import Captured
from culvert.proof.canary import echo_marked
from culvert.topology.link.spec import LinkSpec
from culvert.trial.session import Session
from tests.trial.test_strangers import HEADERS, failed, opened, send

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
LOAD = 3000
NOISE = random.Random(7)
CLEAR: Mapping[str, Callable[[bytes], bytes]] = {
    "all of the largest": lambda marks: marks * 40,
    "80 bytes at the end": lambda marks: NOISE.randbytes(1300) + (marks * 3)[:80],
    "8 bytes, in the smallest": lambda marks: NOISE.randbytes(56) + marks[:8],
    "8 bytes, from within": lambda marks: NOISE.randbytes(57) + (marks * 2)[29:37],
}
"""Readable parts of a packet, by the canary."""


def watched(session: Session, clear: bytes | None) -> Captured:
    """What reaches node b while a load crosses the tunnel, and beside it that packet."""
    load = {"port": 40_000, "payload_size": 1200, "rate_pps": 10_000, "duration_s": LOAD / 10_000}
    with session.watch(sample_one_in=64) as found:
        session.a.call("udp_source", 30, to=session.inner(session.target), **load, **session.marks)
        if clear is not None:
            session.source.run(send(session, clear, 1))
        echo_marked(session)  # when these are back, the link has carried what was sent before them
    return found.nodes[session.target.name].captured


@pytest.mark.parametrize("link", [{"kind": "wire"}, {"kind": "veth"}, {"offloads": True}])
@pytest.mark.parametrize("text", ["wireguard/go", "openvpn/aes-256-gcm"])
def test_one_clear_packet_is_found(text: str, link: Mapping[str, Any]) -> None:
    with ExitStack() as stack:
        session = opened(stack, text, LinkSpec(**link))
        honest = watched(session, None)
        assert failed(session, honest) == {}
        assert honest.searched is not None
        assert honest.searched.packets > honest.packets
        for name, clear in CLEAR.items():
            captured = watched(session, HEADERS[text] + clear(session.canary))
            assert captured.canary_hits == 1, name
            assert "no clear text on the underlay (here)" in failed(session, captured), name
