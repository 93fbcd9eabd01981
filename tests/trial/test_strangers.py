"""Packets to the tunnel's own port that the VPN did not send: each one is found out."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.udp.udp import Udp, UdpParameters
from culvert.probe.client import Probe
from culvert.probe.results import Captured
from culvert.proof.canary import echo_marked
from culvert.results import Status
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.outside import View
from culvert.trial.session import Session
from culvert.waiting import wait_until
from tests.proof.planted import HEADERS, NOISE, failed, send
from tests.run.cells import measure, vpn
from tests.vpns.tunnels import bring_up, driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
SIZE = 1000
SOME = 20
TEXT = b"The tunnel encodes its packets instead of encrypting them, and who listens reads all. "
RECORDS = [{"device": f"meter-{n}", "volts": 230 + n / 10, "ok": True} for n in range(40)]
CONTENTS: Mapping[str, Callable[[], bytes]] = {
    "text": lambda: TEXT * 12,
    "base64": lambda: base64.b64encode(NOISE.randbytes(SIZE)),
    "zeros": lambda: bytes(SIZE),
    "JSON": lambda: json.dumps(RECORDS).encode(),
    "a program": lambda: Path(sys.executable).resolve().read_bytes()[4096:],
}
"""What is not encrypted."""
OF_MESHES: Mapping[str, bytes] = {
    "nebula/aes": b"\x11\0\0\0" + NOISE.randbytes(12),
    "headscale/direct": HEADERS["wireguard/go"],
}


def opened(stack: ExitStack, text: str, link: LinkSpec) -> Session:
    if reason := skip_reason(text):
        pytest.skip(reason)
    lab = stack.enter_context(NetnsLab(new_run_id(), LabSpec(link=link)))
    tunnel = driver(text)
    stack.callback(tunnel.stop, lab)
    a, b = (stack.enter_context(Probe(node)) for node in (lab.a, lab.b))
    bring_up(tunnel, lab)
    return Session(lab, tunnel, lab.path, a, b)


def seen(session: Session, body: Callable[[], object]) -> Captured:
    """What node a sends and receives while the body runs, and afterwards marked packets cross the
    tunnel: when they are back, the link has carried what was sent before them."""
    capture = session.outside.begin("a", View.NODE, record=0)
    capture.ready()
    body()
    echo_marked(session)
    return capture.end()


@pytest.mark.parametrize("kind", ["wire", "veth"])
@pytest.mark.parametrize("text", HEADERS)
def test_each_plain_packet_is_found(text: str, kind: Any) -> None:
    with ExitStack() as stack:
        session = opened(stack, text, LinkSpec(kind=kind))
        a = session.source
        assert failed(session, seen(session, lambda: None)) == {}
        for name, content in CONTENTS.items():
            for data in (content()[:SIZE], (HEADERS[text] + content())[: SIZE + 8]):
                captured = seen(session, lambda: a.run(send(session, data, SOME)))  # noqa: B023
                found = failed(session, captured)
                assert found, (name, data[:32])
                doubtful = captured.strangers.packets, captured.structured.packets
                assert sum(doubtful) == SOME, (name, data[:32], doubtful)
                assert all(f"{SOME} of " in detail for detail in found.values()), found


def test_a_message_type_that_none_has_and_a_wrong_length_are_found() -> None:
    with ExitStack() as stack:
        session = opened(stack, "wireguard/go", LinkSpec())
        for data in (
            bytes((5, 0, 0, 0)) + NOISE.randbytes(1004),
            HEADERS["wireguard/go"] + NOISE.randbytes(1001),
            NOISE.randbytes(1008),
        ):
            packets = send(session, data, SOME)
            captured = seen(session, lambda: session.source.run(packets))  # noqa: B023
            assert list(failed(session, captured)) == ["each packet is a message of the VPN (here)"]


def test_what_the_link_corrupts_as_requested_is_no_stranger() -> None:
    with ExitStack() as stack:
        corruption = 0.2
        impairment = Impairment(a_to_b=OneWay(corrupt=corruption))
        session = opened(stack, "wireguard/go", LinkSpec(kind="wire", impairment=impairment))
        with session.watch(sample_one_in=1) as watched:
            for _ in range(10):
                echo_marked(session)
        captured = watched.nodes["b"].captured
        assert failed(session, captured, corruption) == {}
        plain = send(session, TEXT * 12, 1000)
        with session.watch(sample_one_in=1) as watched:
            session.source.run(plain)
        assert failed(session, watched.nodes["b"].captured, corruption)


OF_HANDSHAKES: Mapping[str, bytes] = {
    "openvpn/aes-256-gcm": b"\x20" + NOISE.randbytes(8) + b"\0\0\0\0\1",
    "strongswan/esp-aes256gcm": bytes(4) + NOISE.randbytes(16) + b"\x21\x20\x22\x08" + bytes(8),
    "nebula/aes": b"\x10\0\0\0" + NOISE.randbytes(12),
    "fastd/salsa2012-umac": b"\1\0\0\0",
    "vpncloud/aes128": b"\xff" + NOISE.randbytes(7),
}
"""What a message of a handshake begins with, behind which clear text may follow."""


class Beside(Udp):
    """A load, and beside it a few packets to the tunnel's port, in clear text behind a header."""

    def __init__(self, header: bytes) -> None:
        self._data = (header + TEXT * 12)[:SIZE]

    def run(self, session: Session, parameters: UdpParameters) -> Outcome:
        process = session.source.daemon(send(session, self._data, 0, pause_s=0.0005), name="plain")
        try:
            wait_until(lambda: "sends" in process.log_text(), what="a packet", deadline_s=10)
            return super().run(session, parameters)
        finally:
            process.stop()


@pytest.mark.parametrize(
    "text", [*HEADERS, *(pytest.param(name, marks=pytest.mark.long) for name in OF_MESHES)]
)
def test_a_trial_with_plain_packets_beside_the_load_is_invalid(text: str) -> None:
    if reason := skip_reason(text):
        pytest.skip(reason)
    load = {"duration": "500ms", "packet_size": 1000, "rate": "50Mbit/s"}
    spec = LabSpec(topology=mesh(2)) if text in OF_MESHES else LabSpec()
    finding = measure(vpn(text), Udp(), load, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    for start in (b"", {**HEADERS, **OF_MESHES}[text]):
        finding = measure(vpn(text), Beside(start), load, spec)
        assert finding.status is Status.INVALID
        failures = [check for check in finding.evidence.checks if not check.passed]
        (check,) = (each for each in failures if each.name.startswith("each packet"))
        (count,) = (
            check.figures[name] for name in ("strangers", "structured") if check.figures.get(name)
        )
        assert check.detail.startswith(f"{count} of ")


@pytest.mark.parametrize(
    "text",
    [
        "openvpn/aes-256-gcm",
        *(pytest.param(name, marks=pytest.mark.long) for name in list(OF_HANDSHAKES)[1:]),
    ],
)
def test_clear_text_behind_a_handshakes_header_beside_the_load_is_found(text: str) -> None:
    if reason := skip_reason(text):
        pytest.skip(reason)
    load = {"duration": "500ms", "packet_size": 1000, "rate": "50Mbit/s"}
    spec = LabSpec(topology=mesh(2)) if text in OF_MESHES else LabSpec()
    finding = measure(vpn(text), Beside(OF_HANDSHAKES[text]), load, spec)
    assert finding.status is Status.INVALID
    found = [check.name for check in finding.evidence.checks if not check.passed]
    assert any(name.startswith("few packets of a handshake") for name in found), found
