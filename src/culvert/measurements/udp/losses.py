"""Where UDP packets from a to b were lost: socket, queue, interface, tunnel or link.

::

    probe ─ qdisc ─ tunnel device ─ VPN ─ its socket ─ interface ─ link ─ interface ─ VPN's socket ─
            qdisc   ───────────── tunnel ───────────   interface   link   interface   ── tunnel ────

      VPN ─ tunnel device ─ socket
      ───── tunnel ──────   socket
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.metrics import Better, MetricSpec
from culvert.probe.results import Accounted, DeviceUse, UdpSunk
from culvert.results import Metric, measured
from culvert.trial.session import Session
from culvert.trial.watch import Watched

LOSS_METRICS = tuple(
    MetricSpec(name, "packets", f"Packets lost {where}", Better.LESS)
    for name, where in {
        "lost_in_socket": "in the receiver's socket",
        "lost_in_qdisc": "in a queue",
        "lost_in_interface": "in an interface",
        "lost_in_tunnel": "in the tunnel device",
        "lost_on_link": "on the link",
        "lost_unattributed": "where no counter is",
    }.items()
)
"""What ``Losses.metrics`` returns."""


@dataclass(frozen=True)
class Losses:
    """Packets lost, by place. ``unattributed`` are in no counter: most are lost in the VPN."""

    socket: int
    qdisc: int
    interface: int
    tunnel: int
    link: int
    unattributed: int

    @property
    def in_path(self) -> int:
        """Lost before the receiver, without losses on the link itself."""
        return self.qdisc + self.interface + self.tunnel + self.unattributed

    def metrics(self) -> list[Metric]:
        values = {
            "lost_in_socket": self.socket,
            "lost_in_qdisc": self.qdisc,
            "lost_in_interface": self.interface,
            "lost_in_tunnel": self.tunnel,
            "lost_on_link": self.link,
            "lost_unattributed": self.unattributed,
        }
        return measured(LOSS_METRICS, values)


def locate_losses(session: Session, watched: Watched, sent: int, sunk: UdpSunk) -> Losses:
    """Attribute each lost packet to the first counter on its path that counts a loss.

    Counters are read at slightly different times, so a place never gets more than is still missing.
    """
    missing = max(sent - sunk.unique, 0)
    a = watched.nodes[session.source.name].accounted
    b = watched.nodes[session.target.name].accounted
    outer_a, outer_b = (
        _device(accounted, node.underlay.device)
        for accounted, node in ((a, session.source), (b, session.target))
    )
    inner_a, inner_b = (
        _device(accounted, session.vpn.interface(node))
        for accounted, node in ((a, session.source), (b, session.target))
    )
    tunnelled = session.vpn.interface(session.source) != session.source.underlay.device
    found: dict[str, int] = {}

    def take(place: str, count: int) -> None:
        nonlocal missing
        found[place] = min(max(count, 0), missing)
        missing -= found[place]

    in_socket = sunk.socket_drops or 0
    take("socket", in_socket)
    take("qdisc", outer_a.qdisc_drops + (inner_a.qdisc_drops if tunnelled else 0))
    take("interface", outer_a.tx_dropped + outer_b.rx_dropped)
    take("link", outer_a.tx_packets - outer_b.rx_packets)
    own_sockets = b.udp.rcvbuf_errors - in_socket
    take(
        "tunnel",
        inner_a.tx_dropped + inner_b.rx_dropped + own_sockets + a.udp.sndbuf_errors
        if tunnelled
        else 0,
    )
    return Losses(**found, unattributed=missing)


def _device(accounted: Accounted, name: str) -> DeviceUse:
    return accounted.device(name) or DeviceUse(
        name=name, rx_packets=0, rx_bytes=0, tx_packets=0, tx_bytes=0
    )
