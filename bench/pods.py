"""Pods of the embedded cluster, for goals beside programs in the same pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from culvert.run.pods.embedded import EmbeddedClusters
from culvert.run.pods.session import ClusterNetwork, PodSession, first_packet, open_session
from culvert.topology.spec import LabSpec
from culvert.vpns import registry


@contextmanager
def pods_over(name: str, spec: LabSpec) -> Iterator[PodSession]:
    """A session between pods on two nodes, over this VPN; packets cross."""
    vpn = registry.create(registry.parse(name))
    with ExitStack() as stack:
        clusters = stack.enter_context(EmbeddedClusters())
        lab = stack.enter_context(clusters.under(vpn, spec).lab(spec))
        network = ClusterNetwork(vpn)
        network.prepare(lab)
        session = open_session(stack, lab, network)
        first_packet(session)
        yield session
