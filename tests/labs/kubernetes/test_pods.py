"""A pod as a node: what is computed from the kernel's files."""

from __future__ import annotations

import threading
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.errors import LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.pods import choice
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.node import PodNode, device_of
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.labs.node import Node
from culvert.topology.spec import LabSpec

ROUTES = """\
Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t010012C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
wg0\t000013C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
vxlan.calico\t0000F40A\t0000F40A\t0003\t0\t0\t0\tC0FFFFFF\t0\t0\t0
cali0123456789a\t4200F40A\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
"""


def test_the_start_of_a_pod_is_not_that_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pod a runs after pod b."""
    nodes = [ClusterNodeInfo(name, "", True, {}, "6.1", "", "") for name in ("one", "two")]
    monkeypatch.setattr(choice, "nodes_of", lambda _: nodes)
    place = Workspace(cast("Api", None), "abcdef", Options("image:1"))
    b_runs = threading.Event()

    def await_running(plan: PodPlan) -> object:
        if plan.node == "two":
            b_runs.set()
        assert b_runs.wait(30)
        meta = SimpleNamespace(namespace="n", name=plan.name)
        status = SimpleNamespace(pod_ip="10.244.0.1", pod_ips=None)
        return SimpleNamespace(
            metadata=meta, status=status, spec=SimpleNamespace(host_network=False)
        )

    monkeypatch.setattr(place, "start", lambda plan: None)
    monkeypatch.setattr(place, "await_running", await_running)
    lab = KubernetesLab(place, LabSpec())
    lab._open()
    assert lab.started_s.keys() == lab.nodes.keys() == {"a", "b"}
    assert [node.host.name for node in lab.nodes.values()] == ["one", "two"]


@pytest.mark.parametrize(
    ("address", "device"),
    [("198.19.0.2", "wg0"), ("203.0.113.1", "eth0"), ("10.244.0.66", "cali0123456789a")],
)
def test_the_device_is_that_of_the_longest_route(address: str, device: str) -> None:
    assert device_of(ROUTES, IPv4Address(address)) == device


def test_an_address_without_a_route() -> None:
    without_default = "\n".join(line for line in ROUTES.splitlines() if not line.startswith("eth0"))
    with pytest.raises(LabError, match="no route"):
        device_of(without_default, IPv4Address("203.0.113.1"))


def test_a_pod_lacks_what_a_vpn_needs_instead_of_refusing_it() -> None:
    """General code finds out by the type; no method raises that a pod cannot do it."""
    assert not issubclass(PodNode, Node)
    assert not {"write", "remove", "dial", "daemon", "set_link"} & set(dir(PodNode))
