"""The request of the command line for the lab kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from culvert import __version__
from culvert.errors import UsageError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.kubernetes.pods.choice import Wish
from culvert.labs.kubernetes.pods.lab import Wishes
from culvert.labs.kubernetes.pods.workspace import Options
from culvert.run.pods.cluster import Clusters, ReachedCluster
from culvert.run.pods.embedded import EmbeddedClusters

EMBEDDED = "embedded"
KUBECONFIG = "kubeconfig"
KINDS = (KUBECONFIG, EMBEDDED)
IMAGE = f"{PROBE_IMAGE}:{__version__}"


@dataclass(frozen=True)
class ClusterRequest:
    """Which cluster, and where in it."""

    cluster: str = KUBECONFIG
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    image: str = IMAGE
    source: str | None = None
    target: str | None = None
    prove: bool = False

    @property
    def needs_root(self) -> bool:
        """Whether namespaces of this machine are made."""
        return self.cluster == EMBEDDED

    def clusters(self) -> Clusters:
        """The clusters of a run. Raises UsageError for words that are not understood."""
        if self.cluster not in KINDS:
            raise UsageError(f"cluster '{self.cluster}'", "is unknown", f"use {' or '.join(KINDS)}")
        wishes = Wishes(Wish.parse(self.source), Wish.parse(self.target))
        if self.cluster == EMBEDDED:
            return EmbeddedClusters()
        options = Options(self.image, self.namespace)
        api = Api.of(self.kubeconfig, self.context)
        return ReachedCluster(api, options, wishes, prove=self.prove)

    def words(self) -> Iterator[str]:
        """The options of the command line that differ from the defaults."""
        given: dict[str, object] = {
            "--cluster": self.cluster if self.cluster != KUBECONFIG else None,
            "--kubeconfig": self.kubeconfig,
            "--context": self.context,
            "--namespace": self.namespace,
            "--image": self.image if self.image != IMAGE else None,
            "--from": self.source,
            "--to": self.target,
        }
        for name, value in given.items():
            if value is not None:
                yield from (name, str(value))
        if self.prove:
            yield "--prove"


REACHED = ClusterRequest()
"""The cluster of the user's own kubeconfig."""
