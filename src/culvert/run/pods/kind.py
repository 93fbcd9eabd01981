"""The lab ``kubernetes``: pods of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from culvert.labs.kind import LabOption, OfPods, Place
from culvert.labs.registry import DEFAULT, lab_kind
from culvert.run.pods.request import IMAGE, KUBECONFIG, ClusterRequest

if TYPE_CHECKING:
    from culvert.run.pods.cluster import Clusters
    from culvert.study.study import Study


@dataclass(frozen=True)
class PodPlace(Place):
    """The links below an embedded cluster are of namespaces; its pods are of ``clusters``."""

    clusters: Clusters | None = None


class Kubernetes(OfPods):
    """Its own cluster, or any that a kubeconfig reaches."""

    name = "kubernetes"
    summary = "pods of a cluster"
    seen_at = "on the interfaces of the cluster's nodes"
    options = (
        LabOption(
            "cluster",
            "Cluster to use: kubeconfig, or embedded (started here).",
            "NAME",
            KUBECONFIG,
        ),
        LabOption(
            "kubeconfig", "Kubeconfig to use instead of $KUBECONFIG and ~/.kube/config.", "FILE"
        ),
        LabOption("context", "Context of the kubeconfig.", "NAME"),
        LabOption("namespace", "Use this namespace instead of creating one.", "NAME"),
        LabOption("image", "Image of the probe in the cluster.", "REF"),
        LabOption("from", "Sending node: NAME, KEY=VALUE, zone:NAME or pod:NS/NAME.", "WHERE"),
        LabOption("to", "Receiving node, in the same form.", "WHERE"),
        LabOption("prove", "Capture on the nodes' interfaces (pods with NET_RAW and NET_ADMIN)."),
    )

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        kubeconfig = given.get("kubeconfig")
        self.request = ClusterRequest(
            given.get("cluster") or KUBECONFIG,
            None if kubeconfig is None else Path(kubeconfig),
            given.get("context"),
            given.get("namespace"),
            given.get("image") or IMAGE,
            given.get("from"),
            given.get("to"),
            prove=bool(given.get("prove")),
        )

    def begin(self) -> None:
        """Tell a person what is done until the first step of a cluster."""
        from culvert.console import err

        if err.is_terminal:
            text = "reading the study and loading the cluster's client"
            err.print(text, style="dim", markup=False)

    @contextmanager
    def open(self, study: Study) -> Iterator[PodPlace]:
        """Raises UsageError for options that are not understood, and for an unusable kubeconfig."""
        from culvert.run.pods.requested import clusters_of

        with (
            lab_kind(DEFAULT)({}).open(study) as links,
            clusters_of(self.request) as clusters,
        ):
            yield PodPlace(links.make_lab, links.cores, clusters=clusters)
