"""The choice of the cluster's nodes on which the ends of a path are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from culvert.errors import NotPossible, UsageError
from culvert.labs.kubernetes.api.client import Api
from culvert.topology.spec import Placement

ZONE_LABEL = "topology.kubernetes.io/zone"
_ZONE = "zone:"
_POD = "pod:"
_REFUSING = frozenset({"NoSchedule", "NoExecute"})


class By(Enum):
    """What a word of the command line names."""

    ANY = "any node"
    NAME = "the node of that name"
    LABEL = "a node with that label"
    ZONE = "a node in that zone"
    POD = "a running pod"


@dataclass(frozen=True)
class Wish:
    """Where an end should be: NAME, KEY=VALUE, zone:NAME or pod:NAMESPACE/NAME."""

    by: By = By.ANY
    value: str = ""

    @classmethod
    def parse(cls, word: str | None) -> Wish:
        """From the command line; raises UsageError."""
        if not word:
            return cls()
        if word.startswith(_ZONE):
            return cls(By.ZONE, word.removeprefix(_ZONE))
        if word.startswith(_POD):
            value = word.removeprefix(_POD)
            if value.count("/") != 1 or not all(value.split("/")):
                raise UsageError(f"'{word}'", "does not name a pod", "write pod:NAMESPACE/NAME")
            return cls(By.POD, value)
        return cls(By.LABEL if "=" in word else By.NAME, word)

    def matches(self, node: ClusterNodeInfo) -> bool:
        match self.by:
            case By.NAME:
                return node.name == self.value
            case By.LABEL:
                key, _, value = self.value.partition("=")
                return node.labels.get(key) == value
            case By.ZONE:
                return node.labels.get(ZONE_LABEL) == self.value
            case _:
                return True

    def __str__(self) -> str:
        return f"{self.by.value} ({self.value})" if self.value else self.by.value


ANYWHERE = Wish()


@dataclass(frozen=True)
class ClusterNodeInfo:
    """A node as the API describes it. ``usable``: ready, of Linux, and pods without tolerations
    fit."""

    name: str
    address: str
    usable: bool
    labels: dict[str, str]
    kernel: str
    runtime: str
    version: str

    @classmethod
    def of(cls, node: Any) -> ClusterNodeInfo:
        ready = any(
            condition.type == "Ready" and condition.status == "True"
            for condition in node.status.conditions or ()
        )
        taints = node.spec.taints or ()
        refusing = any(taint.effect in _REFUSING for taint in taints)
        addresses = node.status.addresses or ()
        internal = [one.address for one in addresses if one.type == "InternalIP"]
        info = node.status.node_info
        return cls(
            node.metadata.name,
            internal[0] if internal else "",
            ready
            and not refusing
            and not node.spec.unschedulable
            and info.operating_system != "windows",
            dict(node.metadata.labels or {}),
            info.kernel_version,
            info.container_runtime_version,
            info.kubelet_version,
        )


@dataclass(frozen=True)
class Chosen:
    """The nodes of a path's source and target."""

    source: ClusterNodeInfo
    target: ClusterNodeInfo


def nodes_of(api: Api) -> list[ClusterNodeInfo]:
    """All nodes of a cluster, by name."""
    found = api.call("the nodes of the cluster", api.core.list_node).items
    return sorted(map(ClusterNodeInfo.of, found), key=lambda node: node.name)


def choose(
    nodes: list[ClusterNodeInfo], placement: Placement, source: Wish, target: Wish
) -> Chosen:
    """The first nodes that fit. Raises NotPossible with the reason if there are none."""
    usable = [node for node in nodes if node.usable]
    if not usable:
        raise NotPossible(
            "the cluster", f"none of its {len(nodes)} nodes accepts pods",
            "see `kubectl get nodes`: one of Linux must be Ready, without taints and not cordoned",
        )  # fmt: skip
    sources, targets = _matching(usable, nodes, source), _matching(usable, nodes, target)
    if not placement.of_two_nodes:
        both = [node for node in sources if node in targets]
        if not both:
            raise NotPossible(
                f"the placement {placement}",
                f"no node is both {source} and {target}",
                "name one node for both ends, or leave one of them out",
            )
        return Chosen(both[0], both[0])
    pairs = [Chosen(near, far) for near in sources for far in targets if near is not far]
    if not pairs:
        raise NotPossible(
            f"the placement {placement}",
            f"it needs two nodes, and only {usable[0].name} accepts pods"
            if len(usable) == 1
            else f"{source} and {target} are the same node",
            'add a node, name others with --from and --to, or measure with pods = "one-node"',
        )
    return pairs[0]


def _matching(
    usable: list[ClusterNodeInfo], nodes: list[ClusterNodeInfo], wish: Wish
) -> list[ClusterNodeInfo]:
    found = [node for node in usable if wish.matches(node)]
    if found:
        return found
    unusable = [node.name for node in nodes if wish.matches(node)]
    known = ", ".join(node.name for node in nodes)
    raise NotPossible(
        str(wish),
        f"{', '.join(unusable)} accepts no pods" if unusable else f"the nodes are {known}",
        "name another one with --from or --to" if not unusable else "see `kubectl describe node`",
    )
