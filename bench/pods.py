"""Pods of the embedded cluster, for goals beside programs in the same pods."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.run.pods.embedded import EmbeddedClusters
from culvert.run.pods.execution import first_packet
from culvert.run.pods.session import PodSession, open_session
from culvert.topology.spec import LabSpec
from culvert.vpns import registry


@contextmanager
def pods_over(name: str, spec: LabSpec) -> Iterator[PodSession]:
    """A session between pods on two nodes, over this VPN; packets cross."""
    vpn = registry.create(registry.parse(name))
    with ExitStack() as stack:
        clusters = stack.enter_context(EmbeddedClusters())
        under = clusters.under(vpn, spec)
        lab = KubernetesLab(under.workspace, spec, shared_kernel=True)
        stack.enter_context(lab)
        session = open_session(stack, lab, vpn, {})
        first_packet(session)
        yield session
