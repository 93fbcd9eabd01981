"""The generators' ceiling: what the same clients reach beside the tunnel, right after the load."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.measurements.ceiling import (
    CEILING_S,
    bare_link_tells,
    ceiling_metrics,
    held_back,
)
from culvert.measurements.gateway.crowd import CrowdTrial, Load, Seats, Talk, Transport
from culvert.measurements.gateway.crowd_run import CrowdRun
from culvert.measurements.gateway.figures import METRICS
from culvert.measurements.gateway.star import together
from culvert.measurements.udp.losses import Losses
from culvert.proof.known import KnownPath
from culvert.proof.limits import (
    Ceiling,
    Offered,
    connection_is_not_the_limit,
    generator_is_not_the_limit,
)
from culvert.results import Metric, measured
from culvert.topology.graph import Role
from culvert.topology.ip import LONGER_IPV6, IpVersion
from culvert.trial.check import Check
from culvert.trial.session import Session

TCP_CEILING_S = 0.5


class NearLink:
    """What the same clients reach beside the tunnel; None if it was not measured."""

    def __init__(self, packets: Ceiling | None = None, goodput_bps: float | None = None) -> None:
        self._packets = packets
        self._goodput_bps = goodput_bps

    def metrics(self) -> list[Metric]:
        """The generators' own figures, to report with the result."""
        found = [] if self._packets is None else ceiling_metrics(self._packets)
        return found + measured(METRICS, {"ceiling_goodput_bps": self._goodput_bps})

    def checks(
        self,
        session: Session,
        load: Load,
        trial: CrowdTrial,
        found: Sequence[Metric],
        losses: Losses,
    ) -> list[Check]:
        """Whether the generators limited the load."""
        if load.transport is Transport.TCP:
            goodput_bps = next(one.value for one in found if one.name == "goodput_bps")
            return connection_is_not_the_limit(goodput_bps, self._goodput_bps)
        offered = Offered(trial.offered, trial.seconds, losses.in_path, trial.scheduled)
        return [generator_is_not_the_limit(session.vpn, offered, self._packets)]


def near_link(
    session: Session,
    seats: Seats,
    talks: Sequence[Talk],
    load: Load,
    trial: CrowdTrial,
    quiet: int,
) -> NearLink:
    """The clients' load beside the tunnel, for a short time. Paced ones that kept to their
    schedule do not need it."""
    udp = load.transport is Transport.UDP
    if udp and Offered(trial.offered, trial.seconds, 0, trial.scheduled).on_schedule:
        return NearLink()
    if not udp and not bare_link_tells(session):
        return NearLink()
    segmentation = trial.segmentation if udp else "auto"
    if udp:
        return NearLink(packets_ceiling(session, seats, talks, load, segmentation, quiet))
    bare = _bare(session, load, segmentation)
    reached = _beside(session, seats, talks, bare, quiet)
    return NearLink(goodput_bps=sum(reached.goodput_bps(bare)))


def packets_ceiling(
    session: Session,
    seats: Seats,
    talks: Sequence[Talk],
    load: Load,
    segmentation: str,
    quiet: int,
) -> Ceiling:
    """What the same clients send beside the tunnel, unpaced, over UDP."""
    bare = _bare(session, load, segmentation)
    reached = _beside(session, seats, talks, bare, quiet)
    sent_pps = reached.offered / max(reached.seconds, 1e-9)
    line = together(KnownPath.of(session).without_vpn, len(talks), past=_past_gateway(talks))
    line_pps = line.packets_per_s(bare.sizes, upward=talks[0].source.role is Role.CLIENT)
    return Ceiling(sent_pps, reached.forwarded.pps, by_link=held_back(sent_pps, line_pps))


def _past_gateway(talks: Sequence[Talk]) -> bool:
    """Beside the tunnel the clients' packets to each other do not go through the gateway."""
    return all(one.source.role is one.target.role is Role.CLIENT for one in talks)


def _bare(session: Session, load: Load, segmentation: str) -> Load:
    udp = load.transport is Transport.UDP
    version = IpVersion(session.target.underlay.reached_at.ip.version)
    longer = 0 if version is IpVersion.V4 else LONGER_IPV6
    return Load(
        load.transport,
        CEILING_S if udp else TCP_CEILING_S,
        tuple(min(size, session.link.mtu - longer) for size in load.sizes),
        warmup_s=load.warmup_s and TCP_CEILING_S / 2,
        congestion_control=load.congestion_control,
        threads=load.threads,
        segmentation=segmentation,
    )


def _beside(
    session: Session, seats: Seats, talks: Sequence[Talk], bare: Load, quiet: int
) -> CrowdTrial:
    (gateway,) = session.lab.of_role(Role.GATEWAY)

    def on_link(node: Node) -> Node:
        """Beside the tunnel no host behind the gateway is reached."""
        return gateway if node.role is Role.BEHIND else node

    bare_talks = [Talk(one.client, on_link(one.source), on_link(one.target)) for one in talks]
    run = CrowdRun(
        session, seats, bare_talks, bare, lambda node: str(node.underlay.reached_at.ip), quiet
    )
    return run.start().finish()
