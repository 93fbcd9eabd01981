"""The choice of the cluster's nodes."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from culvert.errors import NotPossible, UsageError
from culvert.labs.kubernetes.pods.choice import (
    ANYWHERE,
    ZONE_LABEL,
    By,
    ClusterNodeInfo,
    Wish,
    choose,
)
from culvert.topology.spec import Placement


def node(name: str, **labels: str) -> ClusterNodeInfo:
    return ClusterNodeInfo(name, "10.0.0.1", True, labels, "6.1", "containerd", "v1.34")


ONE, TWO, THREE = node("one", disk="ssd"), node("two"), node("three")
ZONED = replace(node("zoned"), labels={ZONE_LABEL: "eu-1a"})


@pytest.mark.parametrize(("system", "usable"), [("linux", True), ("windows", False)])
def test_pods_of_the_probe_need_linux(system: str, usable: bool) -> None:
    """Some clusters mix nodes, without a taint on those of Windows."""
    ready = SimpleNamespace(type="Ready", status="True")
    info = SimpleNamespace(
        kernel_version="6.1",
        container_runtime_version="containerd",
        kubelet_version="v1.34",
        operating_system=system,
    )
    found = ClusterNodeInfo.of(
        SimpleNamespace(
            metadata=SimpleNamespace(name="one", labels={}),
            spec=SimpleNamespace(taints=None, unschedulable=None),
            status=SimpleNamespace(conditions=[ready], addresses=None, node_info=info),
        )
    )
    assert found.usable is usable


@pytest.mark.parametrize(
    ("word", "wish"),
    [
        (None, ANYWHERE),
        ("one", Wish(By.NAME, "one")),
        ("disk=ssd", Wish(By.LABEL, "disk=ssd")),
        ("zone:eu-1a", Wish(By.ZONE, "eu-1a")),
        ("pod:default/web", Wish(By.POD, "default/web")),
    ],
)
def test_words_of_the_command_line(word: str | None, wish: Wish) -> None:
    assert Wish.parse(word) == wish


@pytest.mark.parametrize("word", ["pod:web", "pod:/web", "pod:a/b/c"])
def test_a_pod_has_a_namespace(word: str) -> None:
    with pytest.raises(UsageError, match="does not name a pod"):
        Wish.parse(word)


def test_two_nodes_are_different_ones() -> None:
    chosen = choose([ONE, TWO, THREE], Placement.TWO_NODES, ANYWHERE, ANYWHERE)
    assert (chosen.source, chosen.target) == (ONE, TWO)
    chosen = choose([ONE, TWO], Placement.TWO_NODES, Wish.parse("two"), ANYWHERE)
    assert (chosen.source, chosen.target) == (TWO, ONE)


def test_one_node_is_the_same() -> None:
    chosen = choose([ONE, ZONED], Placement.ONE_NODE, Wish.parse("zone:eu-1a"), ANYWHERE)
    assert (chosen.source, chosen.target) == (ZONED, ZONED)


def test_a_label_chooses() -> None:
    chosen = choose([TWO, ONE], Placement.SERVICE, Wish.parse("disk=ssd"), ANYWHERE)
    assert (chosen.source, chosen.target) == (ONE, TWO)


def test_one_node_only_is_an_error_with_a_remedy() -> None:
    unready = replace(TWO, usable=False)
    with pytest.raises(NotPossible, match="only one accepts pods") as error:
        choose([ONE, unready], Placement.TWO_NODES, ANYWHERE, ANYWHERE)
    assert "one-node" in error.value.remedy
    with pytest.raises(NotPossible, match="none of its 1 nodes"):
        choose([unready], Placement.ONE_NODE, ANYWHERE, ANYWHERE)
    with pytest.raises(NotPossible, match="two accepts no pods"):
        choose([ONE, unready], Placement.TWO_NODES, Wish.parse("two"), ANYWHERE)
    with pytest.raises(NotPossible, match="the nodes are one, two"):
        choose([ONE, TWO], Placement.TWO_NODES, Wish.parse("four"), ANYWHERE)
    with pytest.raises(NotPossible, match="are the same node"):
        choose([ONE, TWO], Placement.TWO_NODES, Wish.parse("one"), Wish.parse("one"))
