"""Places of loss add up to what is lost, whatever the counters say."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.udp.losses import Losses, locate_losses
from culvert.probe.results import Accounted, Captured, UdpSunk
from culvert.trial.watch import NodeWatch, Watched
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from tests.measurements.fakes import NOTHING_CAPTURED, NOTHING_USED, Tunnel, session

VARIANT = NoVpn.variants[0]


def device(name: str, **counted: Any) -> dict[str, Any]:
    zero = {"rx_packets": 0, "rx_bytes": 0, "tx_packets": 0, "tx_bytes": 0}
    return {**zero, "name": name, **counted}


def watched(a: dict[str, Any], b: dict[str, Any]) -> Watched:
    nodes = {
        name: NodeWatch(
            Accounted.model_validate({**NOTHING_USED, **used}),
            Captured.model_validate(NOTHING_CAPTURED),
        )
        for name, used in (("a", a), ("b", b))
    }
    return Watched(nodes, 1.0)


def losses(
    sent: int,
    received: int,
    *,
    vpn: Vpn | None = None,
    a: dict[str, Any] | None = None,
    b: dict[str, Any] | None = None,
    **sunk: Any,
) -> Losses:
    arrived = UdpSunk(packets=received, bytes=0, **sunk)
    return locate_losses(session(vpn=vpn), watched(a or {}, b or {}), sent, arrived)


def test_each_place_has_its_counters() -> None:
    found = losses(
        100,
        40,
        vpn=Tunnel(VARIANT),
        socket_drops=10,
        a={
            "devices": [
                device("eth0", tx_packets=50, tx_dropped=1, qdisc_drops=5),
                device("tun0", tx_dropped=3, qdisc_drops=2),
            ],
            "udp": {"sndbuf_errors": 4},
        },
        b={
            "devices": [device("eth0", rx_packets=45, rx_dropped=2), device("tun0", rx_dropped=6)],
            "udp": {"rcvbuf_errors": 17},  # 10 of them the sink's own
        },
    )
    assert found == Losses(socket=10, qdisc=7, interface=3, link=5, tunnel=20, unattributed=15)


def test_nothing_is_lost_in_a_tunnel_that_is_not_there() -> None:
    counters = {"devices": [device("eth0", qdisc_drops=3)], "udp": {"sndbuf_errors": 9}}
    assert losses(10, 4, a=counters) == Losses(0, 3, 0, 0, 0, 3)


def test_no_place_gets_more_than_is_missing() -> None:
    found = losses(10, 7, socket_drops=2, a={"devices": [device("eth0", qdisc_drops=500)]})
    assert found == Losses(socket=2, qdisc=1, interface=0, tunnel=0, link=0, unattributed=0)


def test_a_duplicate_makes_up_for_no_loss() -> None:
    assert losses(10, 10, duplicates=4).unattributed == 4
    assert losses(10, 14, duplicates=0) == Losses(0, 0, 0, 0, 0, 0)


def test_a_kernel_that_does_not_count_in_sockets_and_devices_that_were_not_watched() -> None:
    assert losses(10, 4, vpn=Tunnel(VARIANT), socket_drops=None).unattributed == 6


COUNT = st.integers(0, 10**9)
DEVICES = st.fixed_dictionaries(
    dict.fromkeys(("rx_packets", "tx_packets", "rx_dropped", "tx_dropped", "qdisc"), COUNT)
)
NODE = st.tuples(DEVICES, DEVICES, COUNT, COUNT).map(
    lambda drawn: {
        "devices": [device("eth0", **drawn[0]), device("tun0", **drawn[1])],
        "udp": {"rcvbuf_errors": drawn[2], "sndbuf_errors": drawn[3]},
    }
)


@given(COUNT, COUNT, COUNT, st.none() | COUNT, NODE, NODE, st.booleans())
def test_places_add_up_to_what_is_lost(
    sent: int,
    received: int,
    duplicates: int,
    drops: int | None,
    a: dict[str, Any],
    b: dict[str, Any],
    tunnelled: bool,
) -> None:
    vpn = Tunnel(VARIANT) if tunnelled else None
    found = losses(sent, received, vpn=vpn, a=a, b=b, duplicates=duplicates, socket_drops=drops)
    places = [metric.value for metric in found.metrics()]
    assert sum(places) == max(sent - received + duplicates, 0)
    assert min(places) >= 0
    assert tunnelled or found.tunnel == 0
