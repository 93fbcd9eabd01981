"""The embedded cluster of the tests, and trials in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.kubernetes.pods import manifests
from culvert.labs.kubernetes.pods.lab import NO_WISHES
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.measurements.kubernetes.k8s_api import K8sApi
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.measurements.tcp.tcp import Tcp
from culvert.run.pods.cluster import ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters, UnderEmbedded
from culvert.run.pods.stage import execute
from culvert.run.trials.finding import TrialFinding
from culvert.topology.spec import LabSpec, Placement
from culvert.vpns import registry

MARKS = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.slow, pytest.mark.timeout(600)]

WIREGUARD, NOTHING = "wireguard/go", "none"
STEPS: list[str] = []
"""What the clusters were about to do."""


def over(clusters: EmbeddedClusters, vpn: str) -> UnderEmbedded:
    under = clusters.under(registry.create(registry.parse(vpn)), LabSpec())
    assert isinstance(under, UnderEmbedded)
    return under


def executed(
    clusters: EmbeddedClusters,
    vpn: str,
    measurement: Tcp | Rtt | K8sApi,
    parameters: object,
    placement: Placement = Placement.TWO_NODES,
) -> TrialFinding:
    spec = replace(LabSpec(), pods=placement)
    driver = registry.create(registry.parse(vpn))
    return execute(driver, spec, measurement, parameters, clusters)  # type: ignore[arg-type]


def pods(under: UnderEmbedded) -> list[str]:
    core = under.workspace.api.core
    label = f"{manifests.MANAGED}={manifests.MANAGER}"
    found = core.list_pod_for_all_namespaces(label_selector=label).items
    return [each.metadata.name for each in found if not each.metadata.name.startswith("observer")]


def reached_and_proved(under: UnderEmbedded) -> TrialFinding:
    """A trial on it as on a cluster of the user's: nothing is known of its nodes."""
    driver = registry.create(registry.parse(NOTHING))
    parameters = RttParameters.model_validate({"probes": 100, "rate": "500/s"})
    with ReachedCluster(
        under.workspace.api, Options(PROBE_IMAGE), NO_WISHES, prove=True
    ) as reached:
        return execute(driver, LabSpec(), Rtt(), parameters, reached)
