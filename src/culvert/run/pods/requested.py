"""The clusters that the options of the lab name."""

from __future__ import annotations

from pathlib import Path

from culvert.labs.kind import LabKind
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.kubernetes.kind import Kubernetes
from culvert.labs.kubernetes.pods.choice import Wish
from culvert.labs.kubernetes.pods.lab import Wishes
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.run.pods.cluster import Clusters, ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters


def clusters_below(lab: LabKind) -> Clusters | None:
    """The clusters of a run; None: no cluster lies below the lab."""
    return clusters_of(lab) if isinstance(lab, Kubernetes) else None


def clusters_of(lab: Kubernetes) -> Clusters:
    """Raises UsageError for words that are not understood, and for a kubeconfig that cannot be
    used."""
    if lab.embedded:
        return EmbeddedClusters()
    given = lab.given.get
    wishes = Wishes(Wish.parse(given("from")), Wish.parse(given("to")))
    options = Options(given("image") or PROBE_IMAGE, given("namespace"))
    kubeconfig = given("kubeconfig")
    api = Api.of(Path(kubeconfig) if kubeconfig else None, given("context"))
    return ReachedCluster(api, options, wishes, prove=bool(given("prove")))
