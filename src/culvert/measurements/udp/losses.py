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
from culvert.probe.results import UdpSunk
from culvert.results import Metric
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
"""What ``Losses.metrics`` returns, in the order of its fields."""


@dataclass(frozen=True)
class Losses:
    """Packets lost, by place. ``unattributed`` are in no counter: most are lost in the VPN."""

    socket: int = 0
    qdisc: int = 0
    interface: int = 0
    tunnel: int = 0
    link: int = 0
    unattributed: int = 0

    @property
    def in_path(self) -> int:
        """Lost before the receiver, without losses on the link itself."""
        return self.qdisc + self.interface + self.tunnel + self.unattributed

    @classmethod
    def attributed(cls, missing: int, **counted: int) -> Losses:
        """Packets that are missing, by the counters of the places, in their order on the path.

        They are read at slightly different times: a place never gets more than is still missing.
        """
        found = {}
        for place, count in counted.items():
            found[place] = min(max(count, 0), missing)
            missing -= found[place]
        return cls(**found, unattributed=missing)

    def metrics(self) -> list[Metric]:
        values = vars(self).values()
        return [
            Metric(spec.name, spec.unit, count)
            for spec, count in zip(LOSS_METRICS, values, strict=True)
        ]


def locate_losses(session: Session, watched: Watched, sent: int, sunk: UdpSunk) -> Losses:
    """Attribute each lost packet to the first counter on its path that counts a loss."""
    a = watched.nodes[session.source.name].accounted
    b = watched.nodes[session.target.name].accounted
    outer_a, outer_b = (
        used.counts(node.underlay.device)
        for used, node in ((a, session.source), (b, session.target))
    )
    inner_a, inner_b = (
        used.counts(session.vpn.interface(node))
        for used, node in ((a, session.source), (b, session.target))
    )
    tunnelled = session.vpn.interface(session.source) != session.source.underlay.device
    in_socket = sunk.socket_drops or 0
    own_sockets = b.udp.rcvbuf_errors - in_socket + a.udp.sndbuf_errors
    return Losses.attributed(
        max(sent - sunk.unique, 0),
        socket=in_socket,
        qdisc=outer_a.qdisc_drops + (inner_a.qdisc_drops if tunnelled else 0),
        interface=outer_a.tx_dropped + outer_b.rx_dropped,
        link=outer_a.tx_packets - outer_b.rx_packets,
        tunnel=inner_a.tx_dropped + inner_b.rx_dropped + own_sockets if tunnelled else 0,
    )
