"""Who sees what crosses the link: the wire, with nothing captured on the nodes, or a capture."""

from __future__ import annotations

import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from culvert.errors import ProbeError
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.labs.witness import View
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.probe.client import Probe
from culvert.probe.results import Captured, RecordedPacket
from culvert.proof.canary import CANARY_PACKETS, send_canary
from culvert.proof.judge import judge_outcome
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkKind, LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns import lifecycle
from culvert.vpns.outer import outer_packet
from tests.vpns.tunnels import bring_up, driver, skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn]
MS = 1_000_000
TUNNELS = ["wireguard/go", "openvpn/aes-256-gcm"]
SessionFactory = Callable[..., Session]


@pytest.fixture
def session() -> Iterator[SessionFactory]:
    """Sessions without a tunnel yet: ``session("wireguard/go", kind="wire", delay_ns=...)``."""
    with ExitStack() as stack:

        def make(
            text: str, kind: LinkKind = "wire", *, offloads: bool = False, **one_way: object
        ) -> Session:
            if reason := skip_reason(text):
                pytest.skip(reason)
            impairment = Impairment(a_to_b=OneWay(**one_way))  # type: ignore[arg-type]
            link = LinkSpec(kind=kind, offloads=offloads, impairment=impairment)
            lab = stack.enter_context(NetnsLab(new_run_id(), LabSpec(link=link)))
            vpn = driver(text)
            stack.callback(vpn.stop, lab)
            a, b = (stack.enter_context(Probe(node)) for node in (lab.a, lab.b))
            return Session(lab, vpn, lab.path, a, b)

        yield make


def packet_sockets(node: Node) -> int:
    """Sockets that see the node's packets, whoever holds them."""
    return len(node.run(["cat", "/proc/net/packet"]).stdout.splitlines()) - 1


UNTIL_REFUSED = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as around:
    around.settimeout(10)
    around.connect((sys.argv[1], 9))
    around.send(b"x")
    try:
        around.recv(1)
    except ConnectionRefusedError:
        sys.exit()
sys.exit("no error came back")
"""
"""One datagram, and the wait for the error that answers it: both have crossed the wire."""


def look(session: Session, view: View, body: Callable[[], object]) -> Captured:
    """What is seen from node a's end while the body runs."""
    capture = session.outside.begin("a", view, record=1000, snaplen_record=64)
    capture.ready()
    body()
    return capture.end()


def ask(session: Session) -> None:
    """One marked datagram to node b, where nobody listens."""
    session.a.call(
        "echo_once",
        5,
        to=session.inner(session.lab.b),
        port=40000,
        payload_size=100,
        df=True,
        attempts=1,
        timeout_ms=200,  # on a busy machine the wire has read it by then
        **session.marks,
    )


@pytest.mark.parametrize(("kind", "sockets"), [("wire", 0), ("veth", 1)])
def test_on_a_wire_nothing_is_captured_on_the_nodes(
    session: SessionFactory, kind: LinkKind, sockets: int
) -> None:
    made = session("none", kind)
    with made.watch(sample_one_in=1) as watched:
        ask(made)
        assert [packet_sockets(node) for node in (made.lab.a, made.lab.b)] == [sockets] * 2
    seen = watched.nodes["b"].captured
    assert (seen.packets, seen.canary_hits, seen.gso_packets) == (1, 1, 0)
    assert seen.seen_by == ("recorded by the wire" if sockets == 0 else "captured on node b")
    assert (watched.nodes["a"].handed is None) == (kind == "veth")


@pytest.mark.parametrize("text", TUNNELS)
def test_a_tunnel_is_proved_by_the_wire(session: SessionFactory, text: str) -> None:
    made = session(text)
    bring_up(made.vpn, made.lab)
    checks = send_canary(made)
    assert [check for check in checks if not check.passed] == []
    none_of_them = re.compile(r"in 0 of [1-9]\d* packets searched by the wire")
    assert any(none_of_them.search(check.detail) for check in checks), checks
    assert any(check.name == "payload looks encrypted (canary)" for check in checks)


def test_what_encrypts_nothing_is_found_out_by_the_wire(session: SessionFactory) -> None:
    made = session("vxlan/plain")
    bring_up(made.vpn, made.lab)
    failed = [check.name for check in send_canary(made) if not check.passed]
    assert "no clear text on the underlay (canary)" in failed


def test_what_goes_around_the_tunnel_is_found_out_by_the_wire(session: SessionFactory) -> None:
    made = session("wireguard/go")
    bring_up(made.vpn, made.lab)
    around = [sys.executable, "-c", UNTIL_REFUSED, str(made.lab.b.underlay.address.ip)]
    seen = look(made, View.SENT, lambda: made.lab.a.run(around))
    # The datagram, and the error that answers it.
    assert seen.other.packets == 2
    assert "udp" in seen.other.examples[0]


def test_the_wire_sees_what_is_lost(session: SessionFactory) -> None:
    made = session("none", loss=1.0)
    for view in (View.NODE, View.SENT):
        seen = look(made, view, lambda: ask(made))
        assert (seen.packets, seen.canary_hits) == (1, 1)


def test_a_lost_handshake_packet_is_seen(session: SessionFactory) -> None:
    made = session("openvpn/aes-256-gcm", loss=(0,))
    at_b = made.outside.begin("b", View.NODE, record=1000, snaplen_record=64)
    sent = look(made, View.NODE, lambda: bring_up(made.vpn, made.lab))
    arrived = _way(at_b.end().recorded, False)
    first = next(packet for packet in sent.recorded if packet.outgoing)
    assert made.vpn.is_handshake(outer_packet(first))

    def alike(packets: list[RecordedPacket]) -> int:
        return [packet.payload for packet in packets].count(first.payload)

    # It is sent again as it was.
    assert alike(arrived) == alike(_way(sent.recorded, True)) - 1 >= 1


def test_both_see_the_same_packets_at_the_same_end(session: SessionFactory) -> None:
    """The kernel stamps a packet before the wire can read it, and after the wire has written it."""
    made = session("wireguard/go", delay_ns=5 * MS)
    made.vpn.prepare(made.lab)
    capture = made.outside._capture("a", View.NODE, 1, {"record": 1000, "snaplen_record": 64})
    capture.ready()
    captured: list[RecordedPacket] = []
    up_ns = 0

    def come_up() -> None:
        nonlocal up_ns
        lifecycle.bring_up(made.vpn)
        up_ns = time.time_ns()
        captured.extend(capture.end().recorded)

    recorded = look(made, View.NODE, come_up).recorded
    for outgoing in (True, False):
        by_kernel, by_wire = _way(captured, outgoing), _way(recorded, outgoing)
        both = len(by_kernel)
        # The recording ends later, and may have packets from then.
        assert all((packet.realtime_ns or 0) > up_ns for packet in by_wire[both:])
        pairs = list(zip(by_kernel, by_wire[:both], strict=True))
        assert pairs
        for kernel, wire in pairs:
            assert (kernel.payload, kernel.length) == (wire.payload, wire.length)
            assert kernel.realtime_ns is not None
            assert wire.realtime_ns is not None
            before, after = (kernel, wire) if outgoing else (wire, kernel)
            assert (before.realtime_ns or 0) <= (after.realtime_ns or 0)


def _way(packets: list[RecordedPacket], outgoing: bool) -> list[RecordedPacket]:
    return [packet for packet in packets if packet.outgoing is outgoing]


@pytest.mark.parametrize("text", ["none", *TUNNELS])
def test_bytes_reconcile_exactly_even_with_super_packets(
    session: SessionFactory, text: str
) -> None:
    made = session(text, offloads=True)
    bring_up(made.vpn, made.lab)
    outcome = Tcp().run(made, TcpParameters.model_validate({"duration": "0.3s"}))
    checks = judge_outcome(made, outcome)
    bytes_of = [check for check in checks if check.name.startswith("bytes reconcile")]
    assert [check.passed for check in bytes_of] == [True, True]
    assert all("the wire counted" in check.detail for check in bytes_of)
    assert all(check.figures["rule"] == "exact overhead per packet" for check in bytes_of)


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"no recording at all", "no pcapng file"), (None, "No such file"), (b"\n\r\r\n", "ends")],
)
def test_a_recording_that_cannot_be_read_is_named(
    session: SessionFactory, content: bytes | None, why: str
) -> None:
    made = session("none")
    file = made.lab.a.directory / "broken.pcapng"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ProbeError, match="broken") as error:
        made.a.call("capture", 5, device="u0", file=str(file))
    assert why in str(error.value)
    assert error.value.remedy


def test_a_sample_is_one_of_so_many(session: SessionFactory) -> None:
    made = session("none")
    capture = made.outside.begin("a", View.TOWARDS, sample_one_in=8)
    capture.ready()
    with made.watch(sample_one_in=1) as watched:
        made.b.call(
            "udp_source",
            10,
            to=str(made.lab.a.underlay.address.ip),
            port=40000,
            payload_size=100,
            rate_pps=20_000,
            duration_s=0.2,
            **{**made.marks, "canary": secrets.token_hex(32)},
        )
    seen, all_of_them = capture.end(), watched.nodes["a"].captured
    assert 3000 < all_of_them.packets <= 4000
    assert all_of_them.packets / 16 < seen.packets < all_of_them.packets / 4
    assert (seen.searched_packets, seen.canary_hits) == (all_of_them.packets, 0)


def test_over_an_impaired_link_a_canary_that_is_lost_is_sent_again(
    session: SessionFactory,
) -> None:
    (crossed,) = (
        check
        for check in send_canary(session("none", loss=1.0))
        if check.name == "the tunnel carries packets"
    )
    assert not crossed.passed
    assert crossed.detail == f"0 of {2 * CANARY_PACKETS} marked packets came back"
