"""What it costs that every packet of the link is searched for clear text."""

from __future__ import annotations

from typing import ClassVar

from bench.bounds import RatioAtLeast
from bench.goal import ROUNDS, Samples, alternate
from bench.kept_tunnel import tunnel
from culvert.measurements.base import SAMPLE_ONE_IN
from culvert.measurements.streams.tcp_load import TcpLoad, TcpStreams
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outside import Outside, View
from culvert.trial.session import Session

VPN = "wireguard/go"
SECONDS = 2


class _SearchCost(RatioAtLeast):
    peer: ClassVar[str] = "a sample is captured"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "at least 95 % of that without the search"
    factor: ClassVar[float] = 0.95
    vpns: ClassVar[tuple[str, ...]] = (VPN,)
    offloads: ClassVar[bool]

    def measure(self) -> Samples:
        """In one tunnel."""
        with tunnel(VPN, LabSpec(link=LinkSpec(offloads=self.offloads))) as session:
            sampled = Outside(session.lab, session.vpn.outer_flow, session.ends, canary=b"")
            return alternate(
                lambda: _goodput_bps(session, session.outside),
                lambda: _goodput_bps(session, sampled),
                2 * ROUNDS,
                spare=ROUNDS,
            )


class SearchCost(_SearchCost):
    """Both directions captured, as beside a measurement."""

    name: ClassVar[str] = "search-cost"
    what: ClassVar[str] = "TCP goodput while every packet is searched"
    offloads: ClassVar[bool] = False


class SearchCostGso(_SearchCost):
    """The same on a link that carries super-packets."""

    name: ClassVar[str] = "search-cost-gso"
    what: ClassVar[str] = "TCP goodput while every super-packet is searched"
    offloads: ClassVar[bool] = True


def _goodput_bps(session: Session, outside: Outside) -> float:
    captures = [
        outside.begin(name, View.TOWARDS, sample_one_in=SAMPLE_ONE_IN, record=0)
        for name in session.ends
    ]
    for capture in captures:
        capture.ready()
    found_bps = TcpLoad(session, TcpStreams(SECONDS), upward=True).finish().goodput_bps
    for capture in captures:
        capture.end()
    return found_bps
