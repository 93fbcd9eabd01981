"""What captures at the nodes see of a link, with and without its losses."""

from __future__ import annotations

import re
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.measurements.tcp.tcp import Tcp, TcpParameters
from culvert.probe.client import Probe
from culvert.probe.results import Captured, RecordedPacket
from culvert.proof.canary import CANARY_PACKETS, send_canary
from culvert.proof.judge import judge_outcome
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkKind, LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outside import View
from culvert.trial.session import Session
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
"""One datagram, and the wait for the error that answers it: both have crossed the link."""


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
        timeout_ms=200,
        **session.marks,
    )


@pytest.mark.parametrize("kind", ["wire", "veth"])
def test_packets_are_captured_where_they_arrive(session: SessionFactory, kind: LinkKind) -> None:
    made = session("none", kind)
    with made.watch(sample_one_in=1) as watched:
        ask(made)
        assert [packet_sockets(node) for node in (made.lab.a, made.lab.b)] == [1, 1]
    seen = watched.nodes["b"].captured
    assert (seen.packets, seen.canary_hits, seen.gso_packets) == (1, 1, 0)
    assert seen.seen_by == "captured on node b"
    assert (watched.nodes["a"].handed is None) == (kind == "veth")


@pytest.mark.parametrize("text", TUNNELS)
def test_a_tunnel_over_a_wire_is_proved(session: SessionFactory, text: str) -> None:
    made = session(text)
    bring_up(made.vpn, made.lab)
    checks = send_canary(made)
    assert [check for check in checks if not check.passed] == []
    none_of_them = re.compile(r"in 0 of [1-9]\d* packets captured on node a")
    assert any(none_of_them.search(check.detail) for check in checks), checks
    assert any(check.name == "payload looks encrypted (canary)" for check in checks)


def test_what_encrypts_nothing_is_found_out(session: SessionFactory) -> None:
    made = session("vxlan/plain")
    bring_up(made.vpn, made.lab)
    failed = [check.name for check in send_canary(made) if not check.passed]
    assert "no clear text on the underlay (canary)" in failed


def test_what_goes_around_the_tunnel_is_found_out(session: SessionFactory) -> None:
    made = session("wireguard/go")
    bring_up(made.vpn, made.lab)
    around = [sys.executable, "-c", UNTIL_REFUSED, str(made.lab.b.underlay.address.ip)]
    seen = look(made, View.NODE, lambda: made.lab.a.run(around))
    # The datagram, and the error that answers it.
    assert seen.other.packets == 2
    assert "udp" in seen.other.examples[0]


def test_what_is_lost_is_seen_at_the_sender_only(session: SessionFactory) -> None:
    made = session("none", loss=1.0)
    arriving = made.outside.begin("b", View.TOWARDS)
    arriving.ready()
    seen = look(made, View.NODE, lambda: ask(made))
    assert (seen.packets, seen.canary_hits) == (1, 1)
    assert arriving.end().packets == 0


def test_a_lost_handshake_packet_is_seen(session: SessionFactory) -> None:
    made = session("openvpn/aes-256-gcm", loss=(0,))
    at_b = made.outside.begin("b", View.NODE, record=1000, snaplen_record=64)
    at_b.ready()
    sent = look(made, View.NODE, lambda: bring_up(made.vpn, made.lab))
    arrived = _way(at_b.end().recorded, False)
    first = next(packet for packet in sent.recorded if packet.outgoing)
    assert made.vpn.is_handshake(outer_packet(first))

    def alike(packets: list[RecordedPacket]) -> int:
        return [packet.payload for packet in packets].count(first.payload)

    # It is sent again as it was.
    assert alike(arrived) == alike(_way(sent.recorded, True)) - 1 >= 1


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
