"""One clear packet among thousands of encrypted ones, or one beside the tunnel: it is found."""

from __future__ import annotations

import random
import sys
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
BESIDE = {
    "a datagram without payload": """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.sendto(b"", (to, 9))
""",
    "noise in a datagram": """
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.sendto(random.Random(1).randbytes(1300), (to, 40_000))
""",
    "a segment of TCP": """
with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sender:
    sender.connect_ex((to, 9))
""",
    "a packet of another protocol": """
with socket.socket(socket.AF_INET, socket.SOCK_RAW, 253) as sender:
    sender.sendto(b"x", (to, 0))
""",
}
"""Programs that send one packet that is not the tunnel's and has no marks."""


def send_beside(session: Session, program: str) -> list[str]:
    """The command that runs one of them on node a."""
    to = str(session.target.underlay.address.ip)
    return [sys.executable, "-c", f"import random, socket\nto = {to!r}\n{program}"]


def watched(session: Session, command: list[str] | None) -> Captured:
    """What reaches node b while a load crosses the tunnel, and beside it what the command sends."""
    load = {"port": 40_000, "payload_size": 1200, "rate_pps": 10_000, "duration_s": LOAD / 10_000}
    with session.watch(sample_one_in=64) as found:
        session.a.call("udp_source", 30, to=session.inner(session.target), **load, **session.marks)
        if command is not None:
            session.source.run(command)
        echo_marked(session)  # when these are back, the link has carried what was sent before them
    return found.nodes[session.target.name].captured


@pytest.mark.parametrize("link", [{"kind": "wire"}, {"kind": "veth"}, {"offloads": True}])
@pytest.mark.parametrize("text", ["wireguard/go", "openvpn/aes-256-gcm"])
def test_one_packet_is_found(text: str, link: Mapping[str, Any]) -> None:
    with ExitStack() as stack:
        session = opened(stack, text, LinkSpec(**link))
        honest = watched(session, None)
        assert failed(session, honest) == {}
        assert honest.searched is not None
        assert honest.searched.packets > honest.packets
        for name, clear in CLEAR.items():
            packet = HEADERS[text] + clear(session.canary)
            captured = watched(session, send(session, packet, 1))
            assert captured.canary_hits == 1, name
            assert "no clear text on the underlay (here)" in failed(session, captured), name
        for name, program in BESIDE.items():
            captured = watched(session, send_beside(session, program))
            assert captured.other.packets == 1, name
            assert set(failed(session, captured)) == {"nothing beside the tunnel (here)"}, name
