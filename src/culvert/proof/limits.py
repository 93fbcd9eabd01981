"""Whether a figure is the tunnel's or the instrument's own limit.

A slow generator, or a receiver's full socket, makes all fast tunnels look the same. The ceiling is
the rate that the same generator and receiver reach on the bare link between the same nodes, right
after the trial. The baseline is the ceiling itself, so its checks always pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from culvert.trial.check import Check
from culvert.vpns.base import Vpn

NEAR_CEILING = 0.9
"""A rate above this share of the generator's ceiling may be the generator's own limit."""
NEAR_CONNECTION = 1.5
"""TCP is invalid if the tunnel reaches 1.5 times the bare link's goodput. The ceiling is
rough, because a short connection includes slow start, and a tunnel's device may accept larger
segments than the bare link."""
LITTLE_LOSS = 0.01
"""A path that is the limit loses a larger share of the offered packets, or slows the sender."""
SOCKET_DROPS = 0.02
"""Share of the packets that arrived at the receiver that its socket may drop."""
ON_SCHEDULE = 0.98
"""Share of its schedule that a paced generator must offer."""

GENERATOR = "the generator is not the limit"
RECEIVER = "the receiver's socket is not the limit"


@dataclass(frozen=True)
class Ceiling:
    """Rates of generator and receiver on the bare link, in packets per second."""

    sent_pps: float
    received_pps: float
    by_link: bool = False
    """True if the link's rate limited the generator: then the generator's own limit is unknown."""

    def near(self, pps: float) -> bool:
        """Whether a rate may be the generator's own limit."""
        return not self.by_link and pps >= NEAR_CEILING * self.sent_pps


@dataclass(frozen=True)
class Offered:
    """A stream of packets, with the counts that show whether the generator was the limit.

    ``scheduled`` is None for an unpaced stream. ``lost_in_path`` excludes the
    requested loss of the emulated link.
    """

    packets: int
    seconds: float
    lost_in_path: int
    scheduled: int | None = None

    @property
    def pps(self) -> float:
        """Packets per second."""
        return self.packets / max(self.seconds, 1e-9)

    @property
    def on_schedule(self) -> bool:
        """Whether a paced generator offered what it had to: then it is no limit."""
        return self.scheduled is not None and self.packets >= ON_SCHEDULE * self.scheduled


def generator_is_not_the_limit(vpn: Vpn, offered: Offered, ceiling: Ceiling | None) -> Check:
    """Fails if the tunnel carried almost all packets near the generator's ceiling, or if a paced
    generator fell behind its schedule there. One that kept its schedule needs no ceiling."""
    if ceiling is None:
        kept = f"{offered.packets} of {offered.scheduled} scheduled packets were offered"
        return Check(GENERATOR, passed=offered.on_schedule, detail=kept)
    share = offered.pps / max(ceiling.sent_pps, 1e-9)
    reached = (
        f"{offered.pps:,.0f} packets/s were offered, {100 * share:.0f} % of the "
        f"{ceiling.sent_pps:,.0f} packets/s that the generator reaches on the bare link"
    )
    figures = {"offered_pps": offered.pps, "ceiling_pps": ceiling.sent_pps}
    if vpn.outer_flow is None:
        return Check(GENERATOR, passed=True, detail=f"the baseline: {reached}", figures=figures)
    lost = offered.lost_in_path / max(offered.packets, 1)
    limited = ceiling.near(offered.pps) and lost < LITTLE_LOSS and not offered.on_schedule
    return Check(
        GENERATOR,
        not limited,
        f"{reached}; the tunnel lost {100 * lost:.1f} % of them",
        "the tunnel is at least as fast as the generator: measure larger packets, on more cores, "
        "or at a fixed rate",
        figures,
    )


def connection_is_not_the_limit(goodput_bps: float, ceiling_bps: float | None) -> list[Check]:
    """Fails if a connection through the tunnel is much faster than one on the bare link.

    Bit/s. Without a ceiling there is no check.
    """
    if not ceiling_bps:
        return []
    share = goodput_bps / ceiling_bps
    return [
        Check(
            GENERATOR,
            share < NEAR_CONNECTION,
            f"{goodput_bps / 1e6:,.0f} Mbit/s, {100 * share:.0f} % of the "
            f"{ceiling_bps / 1e6:,.0f} Mbit/s that as many connections reach on the bare link",
            "the tunnel is faster than the nodes' own TCP: the measurement is not of the tunnel",
            {"goodput_bps": goodput_bps, "ceiling_bps": ceiling_bps},
        )
    ]


def receiver_is_not_the_limit(vpn: Vpn, arrived: int, socket_drops: int) -> Check:
    """Fails if the receiver's socket dropped too large a share of the packets from the tunnel.

    ``arrived`` counts packets that the socket's reader received.
    """
    share = socket_drops / max(arrived + socket_drops, 1)
    return Check(
        RECEIVER,
        share <= SOCKET_DROPS or vpn.outer_flow is None,
        f"{socket_drops} of {arrived + socket_drops} packets that came out of the tunnel were "
        f"dropped by the full socket of the receiver ({100 * share:.1f} %)",
        "the receiver was slower than the tunnel: give the nodes a core each, or lower the rate",
        {"arrived": arrived, "socket_drops": socket_drops},
    )
