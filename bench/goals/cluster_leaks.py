"""Leaks of the embedded cluster, and a cluster without encryption: how many the proof catches."""

from __future__ import annotations

from typing import ClassVar

from tests.run.pods.leaks import KINDS, beside_the_vpn

from bench.goal import Goal, Samples
from culvert.proof.cluster.judge import Protection
from culvert.run.pods.check import Proved, summary
from culvert.run.pods.cluster import Clusters
from culvert.run.pods.embedded import EmbeddedClusters, UnderEmbedded
from culvert.topology.spec import LabSpec, Placement
from culvert.vpns import registry

VPN, NOTHING = "wireguard/go", "none"
ROUNDS = 10


class ClusterLeaksCaught(Goal):
    """A round: each kind of traffic in turn goes beside the VPN and is proved; in the end a cluster
    over nothing is, as often."""

    name: ClassVar[str] = "cluster-leaks-caught"
    what: ClassVar[str] = "embedded cluster: leaks of each kind, and no encryption, caught"
    unit: ClassVar[str] = "share"
    goal: ClassVar[str] = "all of ten rounds"
    vpns: ClassVar[tuple[str, ...]] = (VPN, NOTHING)

    def measure(self) -> Samples:
        """The share of each round; details have what was reported of each."""
        rounds: list[dict[str, Proved]] = [{} for _ in range(ROUNDS)]
        with EmbeddedClusters() as clusters:
            under = clusters.under(registry.create(registry.parse(VPN)), LabSpec())
            assert isinstance(under, UnderEmbedded)
            for each in rounds:
                for kind in KINDS:
                    with beside_the_vpn(under, kind):
                        each[KINDS[kind]] = _proved(clusters, VPN, kind)
            for each in rounds:
                each[NOTHING] = _proved(clusters, NOTHING, Placement.TWO_NODES)
        return Samples(
            ours=[sum(map(_caught, each.values())) / len(each) for each in rounds],
            details=[{what: one.text for what, one in each.items()} for each in rounds],
        )

    def met(self, samples: Samples) -> bool:
        """No exception."""
        return len(samples.ours) == ROUNDS and all(share == 1 for share in samples.ours)


def _proved(clusters: Clusters, vpn: str, kind: Placement) -> Proved:
    (found,) = summary(clusters, vpn, [kind]).proved
    return found


def _caught(found: Proved) -> bool:
    return found.verdict is not None and found.verdict.wire is Protection.CLEAR and not found.ok
