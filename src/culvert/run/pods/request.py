"""The request of the command line for the lab kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
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
