"""The lab ``kubernetes``: pods of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from culvert.errors import UsageError
from culvert.labs.kind import LabOption, OfPods, Place
from culvert.labs.registry import DEFAULT, lab_kind

if TYPE_CHECKING:
    from culvert.study.study import Study

EMBEDDED = "embedded"
KUBECONFIG = "kubeconfig"


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
        super().__init__({name: value for name, value in given.items() if value})
        cluster = given.get("cluster") or KUBECONFIG
        if cluster not in (KUBECONFIG, EMBEDDED):
            why = f"use {KUBECONFIG} or {EMBEDDED}"
            raise UsageError(f"cluster '{cluster}'", "is unknown", why)
        self.embedded = cluster == EMBEDDED
        foreign = [f"--{name}" for name in self.given if name not in ("cluster", "prove")]
        if self.embedded and foreign:
            raise UsageError(
                "--cluster embedded",
                f"{', '.join(foreign)} does not apply: Culvert makes that cluster and its pods",
                "leave it out, or use --cluster kubeconfig",
            )

    def begin(self) -> None:
        """Tell a person what is done until the first step of a cluster."""
        from culvert.console import err

        if err.is_screen:
            text = "reading the study and loading the cluster's client"
            err.print(text, style="dim", markup=False)

    def open(self, study: Study) -> AbstractContextManager[Place]:
        """The links below an embedded cluster are of namespaces; the run makes the clusters."""
        return lab_kind(DEFAULT)({}).open(study)
