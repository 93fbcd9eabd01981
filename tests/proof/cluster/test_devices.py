"""The devices by which a node's packets leave it: of made-up trees, and of real namespaces."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pytest

from culvert.errors import LabError, ProbeError
from culvert.probe.client import Probe, Task
from culvert.proof.cluster import devices
from culvert.proof.cluster.observer import Observer, watching

ROUTE = "{}\t{}\t00000000\t0001\t0\t0\t0\t{}\t0\t0\t0\n"
HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
ETHERNET, NONE, IPIP, GRE = 1, 65534, 768, 778


class Node:
    """A tree of files below ``root`` in the place of /proc and /sys, with its reader."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names = ["lo"]
        self.refused: list[str] = []
        """Devices on which no capture can begin."""
        self.routes = HEAD
        self.requests: list[Mapping[str, object]] = []
        """Of captures."""

    def add(
        self,
        name: str,
        index: int,
        *,
        link: int | None = None,
        arp_type: int = ETHERNET,
        kind: str = "",
        network: bool = True,
        hardware: bool = False,
        tun: bool = False,
        lower: Sequence[str] = (),
        routed: bool = True,
        flags: int = 0x1003,
        port: bool = False,
    ) -> None:
        self.names.append(name)
        mask = "00FFFFFF" if network else "FFFFFFFF"
        if routed:
            self.routes += ROUTE.format(name, "0000000A", mask)
        base = f"/sys/class/net/{name}"
        uevent = (f"DEVTYPE={kind}\n" if kind else "") + f"INTERFACE={name}\nIFINDEX={index}\n"
        self.write(f"{base}/uevent", uevent)
        self.write(f"{base}/type", f"{arp_type}\n")
        self.write(f"{base}/ifindex", f"{index}\n")
        self.write(f"{base}/iflink", f"{index if link is None else link}\n")
        self.write(f"{base}/flags", f"{flags:#x}\n")
        if port:
            self.write(f"{base}/master/ifindex", "1\n")
        if hardware:
            self.write(f"{base}/device/uevent", "DRIVER=virtio_net\n")
        if tun:
            self.write(f"{base}/tun_flags", "0x1001\n")
        for each in lower:
            self.write(f"{base}/lower_{each}/ifindex", "1\n")

    def write(self, path: str, text: str) -> None:
        file = self.root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def own(self) -> tuple[str, ...]:
        return self.observer().devices

    def captured(self, *ends: int) -> list[str]:
        """The devices on which captures begin."""
        observer = self.observer()
        observer.ends = ends
        return [name for name, _ in observer.begin(b"mark", None, record=0, sample_one_in=1)]

    def begin(self, task: str, **parameters: object) -> Task:
        assert task == "capture"
        self.requests.append(parameters)
        begun = Mock(spec=Task)
        if parameters["device"] in self.refused:
            begun.ready.side_effect = ProbeError("capture", "no device of that name", "")
        return cast("Task", begun)

    def list_devices(self) -> None:
        """Into the file that names them."""
        counters = "".join(f"  {name}: 0 0\n" for name in self.names)
        self.write(devices.DEVICES, f"Inter-|\n face |\n{counters}")

    def observer(self) -> Observer:
        self.list_devices()
        self.write(devices.ROUTES, self.routes)
        return Observer("a", cast("Probe", self))

    def call(self, task: str, deadline_s: float, *, paths: Sequence[str]) -> Mapping[str, Any]:
        assert (task, deadline_s > 0) == ("read", True)
        files = [(path, self.root / path.removeprefix("/")) for path in paths]
        texts = {path: file.read_text() if file.exists() else None for path, file in files}
        return {"files": [{"path": path, "text": text} for path, text in texts.items()]}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_hardware_is_the_nodes_own_with_a_network_and_without(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("ib0", 3, hardware=True, arp_type=32, network=False)
    assert node.own() == ("eth0", "ib0")


def test_overlays_tunnels_and_pods_devices_are_not(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("vxlan.calico", 3, kind="vxlan")
    node.add("wg0", 4, kind="wireguard", arp_type=NONE)
    node.add("tun0", 5, arp_type=NONE, tun=True)
    node.add("cni0", 6, kind="bridge")
    node.add("cali0123456789a", 7, link=2, network=False)
    assert node.own() == ("eth0",)


@pytest.mark.parametrize(
    ("name", "arp_type"), [("tunl0", IPIP), ("gre1", GRE), ("vti0", IPIP), ("ipsec0", NONE)]
)
def test_tunnels_of_the_kernel_have_no_kind_and_are_not(
    node: Node, name: str, arp_type: int
) -> None:
    node.add("eth0", 2, hardware=True)
    node.add(name, 3, link=0, arp_type=arp_type)
    assert node.own() == ("eth0",)


@pytest.mark.parametrize("link", [0, 2])
def test_a_tunnel_of_ethernet_is_not_bound_to_a_device_or_free(node: Node, link: int) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("gretap1", 3, link=link)
    assert node.own() == ("eth0",)


def test_both_ends_of_a_pair_in_the_node_are_not(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("cilium_net", 3, link=4, network=False)
    node.add("cilium_host", 4, link=3)
    assert node.own() == ("eth0",)


def test_a_nodes_device_that_is_an_end_of_a_pair_is(node: Node) -> None:
    """Of a node that is a container: the other end is elsewhere, and a device of the node happens
    to have its index there."""
    node.add("vetha", 7, link=2, network=False)
    node.add("eth0", 20, link=7)
    assert node.own() == ("eth0",)


def test_below_a_vlan_the_device_counts(node: Node) -> None:
    node.add("eth0", 2, link=9, network=False)
    node.add("eth0.5", 3, link=2, kind="vlan", lower=["eth0"])
    assert node.own() == ("eth0",)


def test_without_any_the_error_names_the_node(node: Node) -> None:
    node.add("vxlan.calico", 3, kind="vxlan")
    with pytest.raises(LabError, match="node a of the cluster"):
        node.own()


@pytest.mark.parametrize("kind", ["", "vlan", "macvlan"])
def test_a_second_link_without_addresses_is_captured_too(node: Node, kind: str) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("second", 3, link=9, kind=kind, routed=False)
    assert node.own() == ("eth0",)
    assert node.captured() == ["eth0", "second"]


def test_a_link_that_is_added_later_is_captured_from_then_on(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    observer = node.observer()
    node.add("second", 3, link=9, routed=False)
    node.observer()  # writes the lists of devices and routes
    begun = observer.begin(b"mark", None, record=0, sample_one_in=1)
    assert [name for name, _ in begun] == ["eth0", "second"]


def test_small_packets_of_a_measurement_are_searched_for_in_super_packets(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    observer = node.observer()
    with pytest.raises(LabError), watching([observer], b"mark", [], None, marked_run=8):
        raise LabError("the measurement", "has ended", "")
    (request,) = node.requests
    assert request["marked_run"] == 8


@pytest.mark.parametrize(
    "about",
    [
        {"flags": 0x1002},
        {"flags": 0x83},
        {"port": True},
        {"tun": True},
        {"kind": "bridge"},
        {"kind": "vxlan"},
        {"arp_type": GRE},
        {"link": 0},
        {"link": 2},
        {"network": False, "routed": True},
    ],
    ids=str,
)
def test_what_leads_to_no_other_node_is_not(node: Node, about: dict[str, Any]) -> None:
    """Down, a dummy, a port of a bridge, a program's, an overlay, a tunnel, a pod's."""
    node.add("eth0", 2, hardware=True)
    node.add("other", 3, **{"link": 9, "routed": False, **about})
    assert node.captured() == ["eth0"]


class Ended(Node):
    """Of another pod, whose device goes when a capture on it is about to begin."""

    def begin(self, task: str, **parameters: object) -> Task:
        self.names = [name for name in self.names if name not in self.refused]
        self.list_devices()
        return super().begin(task, **parameters)


def test_a_link_that_goes_before_its_capture_begins_is_left_out(tmp_path: Path) -> None:
    node = Ended(tmp_path)
    node.add("eth0", 2, hardware=True)
    node.add("second", 3, link=9, routed=False)
    node.refused = ["second"]
    assert node.captured() == ["eth0"]


def test_a_node_whose_own_device_goes_is_an_error(tmp_path: Path) -> None:
    node = Ended(tmp_path)
    node.add("eth0", 2, hardware=True)
    node.refused = ["eth0"]
    with pytest.raises(ProbeError):
        node.captured()


def test_a_link_that_is_there_and_cannot_be_captured_is_an_error(node: Node) -> None:
    node.add("eth0", 2, hardware=True)
    node.add("second", 3, link=9, routed=False)
    node.refused = ["second"]
    with pytest.raises(ProbeError):
        node.captured()


def test_the_ends_of_the_trials_pods_are_not(node: Node) -> None:
    """Where no route leads to them: their packets are readable there, and have not left."""
    node.add("eth0", 2, hardware=True)
    for index in (11, 12, 13):
        node.add(f"lxc{index}", index, link=9, routed=False)
    assert node.captured(11, 13) == ["eth0", "lxc12"]


class Namespace:
    """A reader of the files of a process's namespaces."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def call(self, task: str, deadline_s: float, *, paths: Sequence[str]) -> Mapping[str, Any]:
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--pid", "cat"]
        texts = []
        for path in paths:
            own = path.replace("/proc/net", f"/proc/{self.pid}/net")
            argv = [*enter, path] if path.startswith("/sys") else ["cat", own]
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=10)
            texts.append({"path": path, "text": None if done.returncode else done.stdout})
        return {"files": texts}


@contextmanager
def namespace(*links: str) -> Iterator[Namespace]:
    """With devices that ``ip`` makes."""
    if os.geteuid() != 0:
        pytest.skip("namespaces with devices need root")
    made = "\n".join(["mount -t sysfs sysfs /sys || exit 1", *links, "echo ready", "exec cat"])
    argv = ["unshare", "--net", "--mount", "sh", "-e", "-c", made]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, **pipes) as held:  # type: ignore[call-overload]
        try:
            assert held.stdout.readline() == "ready\n"
            yield Namespace(held.pid)
        finally:
            held.kill()


NIC = (
    "exec 3<&0",
    "unshare --net cat <&3 &",
    "while [ $(readlink /proc/$!/ns/net) = $(readlink /proc/$$/ns/net) ]; do :; done",
    "ip link add eth0 type veth peer name far netns $!",
    "ip address add 10.0.0.1/24 dev eth0",
    "ip link set eth0 up",
)
"""A device that leads to another namespace, as that of a node which is a container."""


def test_real_pair_in_one_namespace() -> None:
    with namespace(
        *NIC,
        "ip link add cilium_host type veth peer name cilium_net",
        "ip address add 10.1.0.1/24 dev cilium_host",
        "ip link set cilium_net up",
        "ip link set cilium_host up",
    ) as there:
        seen = Observer("a", cast("Probe", there))
    assert seen.devices == ("eth0",)
    assert sorted(map(str, seen.addresses)) == ["10.0.0.1", "10.1.0.1"]


@pytest.mark.parametrize("kind", ["ipip", "gre", "gretap", "vti"])
def test_a_tunnel_of_the_kernel_is_no_own_interface(kind: str) -> None:
    add = f"ip link add tunnel type {kind} local 10.0.0.1 remote 10.0.0.2"
    argv = ["unshare", "--net", *add.split()]
    if subprocess.run(argv, capture_output=True, check=False, timeout=10).returncode:
        pytest.skip(f"this kernel has no {kind}, or its namespaces need root")
    with namespace(
        *NIC,
        add,
        "ip address add 10.2.0.1/24 dev tunnel",
        "ip link set tunnel up",
    ) as there:
        assert Observer("a", cast("Probe", there)).devices == ("eth0",)
