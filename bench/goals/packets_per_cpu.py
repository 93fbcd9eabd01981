"""64-byte packets per CPU-second of the sender, the probe beside each of its peers.

Real packets on the wire: offloads are off at the link, the link counts them. What receiving them
costs is kept out of every sender's account alike: see bench/far_end.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from bench.bounds import RatioAtLeast
from bench.far_end import keep_out_of_the_account
from bench.floods import PACKAGES, PEERS, SIZE, probe_source
from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import fast_link
from culvert.labs.base import Lab

FACTORS = {"iperf3": 4.0, "iperf2": 4.0, "nuttcp": 5.0, "sockperf": 5.0}
UNSEGMENTED = 1.15


class _BesidePeer(RatioAtLeast):
    """The probe chooses how it sends."""

    what: ClassVar[str] = "64-byte packets per CPU-second of the sender"
    unit: ClassVar[str] = "packets/s"

    def measure(self) -> Samples:
        """On one lab."""
        with _link() as lab:
            return alternate(
                lambda: probe_source(lab).sent_per_cpu_s,
                lambda: PEERS[self.peer](lab).sent_per_cpu_s,
                ROUNDS,
            )


def _beside(name: str, factor: float) -> type[Goal]:
    goal = {
        "__doc__": _BesidePeer.__doc__,
        "name": f"packets-{name}",
        "peer": name,
        "factor": factor,
        "goal": f"at least {factor:g} times",
        "programs": (PACKAGES[name],),
    }
    return type(f"PacketsBeside{name.capitalize()}", (_BesidePeer,), goal)


PACKETS_BESIDE: tuple[type[Goal], ...] = tuple(_beside(*peer) for peer in FACTORS.items())


class PacketsUnsegmented(RatioAtLeast):
    """The best of all peers in each round."""

    name: ClassVar[str] = "packets-unsegmented"
    what: ClassVar[str] = "the same without UDP_SEGMENT"
    peer: ClassVar[str] = f"the best of {len(PEERS)}"
    unit: ClassVar[str] = "packets/s"
    factor: ClassVar[float] = UNSEGMENTED
    goal: ClassVar[str] = f"at least {UNSEGMENTED:g} times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = tuple(PACKAGES.values())

    def measure(self) -> Samples:
        """On one lab."""
        with _link() as lab:
            return alternate(
                lambda: probe_source(lab, segmentation="none").sent_per_cpu_s,
                lambda: max(flood(lab).sent_per_cpu_s for flood in PEERS.values()),
                ROUNDS,
            )


@contextmanager
def _link() -> Iterator[Lab]:
    with fast_link() as lab:
        keep_out_of_the_account(lab, SIZE)
        yield lab
