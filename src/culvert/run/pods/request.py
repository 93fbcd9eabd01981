"""The request of the command line for the lab kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from culvert import __version__
from culvert.labs.kubernetes.image import PROBE_IMAGE

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
    def of_reached(self) -> Mapping[str, str]:
        """Those that differ from the defaults and are for a cluster that a kubeconfig reaches."""
        given: dict[str, object] = {
            "--kubeconfig": self.kubeconfig,
            "--context": self.context,
            "--namespace": self.namespace,
            "--image": self.image if self.image != IMAGE else None,
            "--from": self.source,
            "--to": self.target,
        }
        return {name: str(value) for name, value in given.items() if value is not None}
