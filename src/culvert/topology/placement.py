"""Where the two ends of a path are in a cluster."""

from __future__ import annotations

from enum import StrEnum


class Placement(StrEnum):
    """The values of a condition's ``pods``."""

    TWO_NODES = "two-nodes"
    """A pod on each of two nodes."""
    ONE_NODE = "one-node"
    """Two pods on one node."""
    SERVICE = "service"
    """A pod on one node, and a service whose only pod is on another node."""
    HOST_NETWORK = "host-network"
    """Pods in the networks of two nodes."""

    @property
    def of_two_nodes(self) -> bool:
        """Whether its ends are on different nodes."""
        return self is not Placement.ONE_NODE
