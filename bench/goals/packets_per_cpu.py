"""64-byte packets per CPU-second of the sender, the probe beside each of its peers."""

from __future__ import annotations

from typing import ClassVar

from bench.floods import PACKAGES, PEERS, probe_flood
from bench.goal import ROUNDS, Goal, Samples, alternate
from bench.link import fast_link


class _PerCpuSecond(Goal):
    """Real packets on the wire: offloads are off at the link, the link counts them."""

    unit: ClassVar[str] = "packets/s"
    factor: ClassVar[float]
    segmentation: ClassVar[str] = "auto"

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            return alternate(
                lambda: probe_flood(lab, segmentation=self.segmentation).sent_per_cpu_s,
                lambda: PEERS[self.peer](lab).sent_per_cpu_s,
                ROUNDS,
            )

    def met(self, samples: Samples) -> bool:
        """The ratio of the medians."""
        return samples.ratio is not None and samples.ratio >= self.factor


class PacketsBesideIperf3(_PerCpuSecond):
    """The probe chooses how it sends."""

    name: ClassVar[str] = "packets-iperf3"
    what: ClassVar[str] = "64-byte packets per CPU-second of the sender"
    peer: ClassVar[str] = "iperf3"
    factor: ClassVar[float] = 4
    goal: ClassVar[str] = "at least 4 times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf3"],)


class PacketsBesideIperf2(_PerCpuSecond):
    """The probe chooses how it sends."""

    name: ClassVar[str] = "packets-iperf2"
    what: ClassVar[str] = "64-byte packets per CPU-second of the sender"
    peer: ClassVar[str] = "iperf2"
    factor: ClassVar[float] = 4
    goal: ClassVar[str] = "at least 4 times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["iperf2"],)


class PacketsBesideNuttcp(_PerCpuSecond):
    """The probe chooses how it sends."""

    name: ClassVar[str] = "packets-nuttcp"
    what: ClassVar[str] = "64-byte packets per CPU-second of the sender"
    peer: ClassVar[str] = "nuttcp"
    factor: ClassVar[float] = 5
    goal: ClassVar[str] = "at least 5 times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["nuttcp"],)


class PacketsBesideSockperf(_PerCpuSecond):
    """The probe chooses how it sends."""

    name: ClassVar[str] = "packets-sockperf"
    what: ClassVar[str] = "64-byte packets per CPU-second of the sender"
    peer: ClassVar[str] = "sockperf"
    factor: ClassVar[float] = 5
    goal: ClassVar[str] = "at least 5 times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (PACKAGES["sockperf"],)


class PacketsUnsegmented(_PerCpuSecond):
    """The best of all peers in each round."""

    name: ClassVar[str] = "packets-unsegmented"
    what: ClassVar[str] = "the same without UDP_SEGMENT"
    peer: ClassVar[str] = "the best of four"
    factor: ClassVar[float] = 1.15
    segmentation: ClassVar[str] = "none"
    goal: ClassVar[str] = "at least 1.15 times"
    programs: ClassVar[tuple[tuple[str, str], ...]] = tuple(PACKAGES.values())

    def measure(self) -> Samples:
        """On one lab."""
        with fast_link() as lab:
            return alternate(
                lambda: probe_flood(lab, segmentation=self.segmentation).sent_per_cpu_s,
                lambda: max(flood(lab).sent_per_cpu_s for flood in PEERS.values()),
                ROUNDS,
            )
