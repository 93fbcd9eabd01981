"""Packets that a test plants on the measured link: clear text to the tunnel's port, or packets
beside the tunnel."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from culvert.probe.results import Captured
from culvert.proof.canary import echo_marked
from culvert.proof.capture import judge_capture
from culvert.proof.cluster.observer import Observer, watching
from culvert.proof.cluster.seen import Seen
from culvert.run.pods.prove import LoadCaptures
from culvert.run.pods.stage import SAMPLE_ONE_IN
from culvert.topology.spec import Placement
from culvert.trial.session import Session

NOISE = random.Random(1)
HEADERS: Mapping[str, bytes] = {
    "wireguard/go": bytes((4, 0, 0, 0)) + NOISE.randbytes(12),
    "openvpn/aes-256-gcm": b"\x48\0\0\0" + NOISE.randbytes(20),
    "openvpn/aes-256-cbc": b"\x48\0\0\0" + NOISE.randbytes(48),
    "openvpn/aes-256-cbc+psk": NOISE.randbytes(48),
    "strongswan/esp-aes256gcm": b"\xc1\x02\x03\x04\0\0\0\1" + NOISE.randbytes(8),
}
"""What a message with data begins with."""
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
PYTHON = str(Path(sys.executable).resolve())
"""Not that of a checkout, which may lie below a /tmp that a host does not see."""
RATE_PPS = 10_000
LOAD = (1500, 1500)
_SEND = """
import itertools, socket, sys, time
data = open(sys.argv[3], "rb").read()
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    count, pause_s = int(sys.argv[4]), float(sys.argv[5])
    for number in range(count) if count else itertools.count():
        sender.sendto(data, (sys.argv[1], int(sys.argv[2])))
        if number == 0:
            print("sends", flush=True)
        time.sleep(pause_s)
"""


def send(session: Session, data: bytes, count: int, pause_s: float = 0) -> list[str]:
    """The command that sends such packets to the tunnel's port of node b, beside the tunnel;
    count 0: until it is stopped."""
    flow = session.vpn.outer_flow
    assert flow is not None
    file = session.source.write("plain", data)
    to = str(session.target.underlay.address.ip), str(max(flow.ports))
    return [PYTHON, "-c", _SEND, *to, str(file), str(count), str(pause_s)]


def send_beside(session: Session, program: str) -> list[str]:
    """The command that runs one of BESIDE on node a."""
    to = str(session.target.underlay.address.ip)
    return [PYTHON, "-c", f"import random, socket\nto = {to!r}\n{program}"]


def watched(
    session: Session,
    load: Sequence[int],
    command: list[str] | None = None,
    *,
    rate_pps: float = RATE_PPS,
) -> Captured:
    """What reaches node b meanwhile, as between namespaces and hosts."""
    with session.watch(sample_one_in=64) as found:
        _cross(session, load, command, rate_pps)
    return found.nodes[session.target.name].captured


def observed(
    session: Session,
    load: Sequence[int],
    command: list[str] | None = None,
    *,
    rate_pps: float = RATE_PPS,
) -> LoadCaptures:
    """What reaches node b meanwhile, as beside a measurement between pods."""
    seen: list[Seen] = []
    observer = Observer(session.target.name, session.b, [session.target.underlay.device])
    among = [node.underlay.address.ip for node in (session.source, session.target)]
    with watching([observer], session.canary, seen, among, sample_one_in=SAMPLE_ONE_IN):
        _cross(session, load, command, rate_pps)
    return LoadCaptures(seen, Placement.TWO_NODES, SAMPLE_ONE_IN, marked=True)


def _cross(
    session: Session, load: Sequence[int], command: list[str] | None, rate_pps: float
) -> None:
    """So many packets cross the tunnel one after another, and beside it what the command sends:
    after the first of the loads, before the next."""
    constant = {"port": 40_000, "payload_size": 1200, "rate_pps": rate_pps, **session.marks}
    to = session.inner(session.target)
    for number, packets in enumerate(load):
        duration_s = packets / rate_pps
        session.a.call("udp_source", duration_s + 30, to=to, duration_s=duration_s, **constant)
        if command is not None and number == 0:
            session.source.run(command)
    echo_marked(session)  # when these are back, the link has carried what was sent before them


def failed(session: Session, captured: Captured, corruption: float = 0.0) -> dict[str, str]:
    """The failed checks of a capture, with what they found."""
    checks = judge_capture(session.vpn, captured, "here", corruption=corruption)
    return {check.name: check.detail for check in checks if not check.passed}


def assert_each_is_found(session: Session, text: str) -> None:
    """Of an honest load nothing, of each kind exactly the one packet."""
    honest = watched(session, LOAD)
    assert failed(session, honest) == {}
    assert honest.searched is not None
    assert honest.searched.packets > honest.packets
    for name, clear in CLEAR.items():
        packet = HEADERS[text] + clear(session.canary)
        captured = watched(session, LOAD, send(session, packet, 1))
        assert captured.canary_hits == 1, name
        assert "no clear text on the underlay (here)" in failed(session, captured), name
    for name, program in BESIDE.items():
        captured = watched(session, LOAD, send_beside(session, program))
        assert captured.other.packets == 1, name
        assert set(failed(session, captured)) == {"nothing beside the tunnel (here)"}, name
