"""Leaks of an embedded cluster over a VPN: packets of one kind from node a to b go beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import IPv4Network

from culvert.labs.kubernetes.embedded.node import ClusterNode
from culvert.labs.netns.node import NetnsNode
from culvert.run.pods.embedded import UnderEmbedded
from culvert.topology.spec import Placement

KINDS = {
    Placement.TWO_NODES: "pod to pod",
    Placement.SERVICE: "pod to service",
    Placement.HOST_NETWORK: "node to node (host network)",
}
"""The kinds of traffic, with the names that the proof gives them."""


def routes(node: NetnsNode) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(node.run(["ip", "-j", "route"]).stdout)
    return found


@contextmanager
def done(node: NetnsNode | ClusterNode, *lines: str) -> Iterator[None]:
    """Commands with ``add``, and at the end the same with ``del``."""
    with ExitStack() as stack:
        for line in lines:
            node.run(line.split())
            undo = [{"add": "del", "-A": "-D"}.get(word, word) for word in line.split()]
            stack.callback(node.run, undo, check=False)
        yield


@contextmanager
def beside_the_vpn(under: UnderEmbedded, kind: Placement) -> Iterator[None]:
    """Packets of this kind from node a to b leave a beside the VPN, those of other kinds do not."""
    assert under.over.cluster is not None
    near, core, far = (under.over.lab.nodes[name] for name in ("a", "core", "b"))
    (pods_of_b,) = (one["dst"] for one in routes(near) if one.get("dev") == "vxlan.calico")
    (default,) = (one["gateway"] for one in routes(near) if one["dst"] == "default")
    node_b = str(under.over.vpn.inner(far).ip)
    back = str(far.underlay.address.ip)
    elsewhere = f"ip route add default via {default} table 77"
    match kind:
        case Placement.TWO_NODES:
            halves = IPv4Network(pods_of_b).subnets()  # more specific than Calico's own
            lines = [f"ip route add {half} via {default}" for half in halves]
        case Placement.SERVICE:
            mark = "-t mangle -A PREROUTING -d 10.96.0.0/16 -j MARK --set-xmark 0x20/0x20"
            lines = [
                elsewhere,
                "ip rule add pref 70 fwmark 0x20/0x20 lookup 77",
                f"iptables {mark}",
            ]
        case _:
            lines = [
                elsewhere,
                f"ip rule add pref 70 to {node_b} ipproto udp dport 4789 lookup main",
                f"ip rule add pref 71 to {node_b} lookup 77",
            ]
    to_b = [f"ip route add {target} via {back}" for target in (pods_of_b, node_b)]
    with done(core, *to_b), done(under.over.cluster.nodes["a"], *lines):
        yield


@contextmanager
def copied_clear(under: UnderEmbedded) -> Iterator[None]:
    """What node a has decapsulated is also sent over a second link without addresses to b."""
    near, far = (under.over.lab.nodes[name] for name in ("a", "b"))
    with ExitStack() as stack:
        held = far.spawn(["sleep", "300"], name="second-link")
        stack.callback(held.stop)
        near.run(f"ip link add second type veth peer name far netns {held.pid}".split())
        stack.callback(near.run, ["ip", "link", "del", "second"])
        near.run(["ip", "link", "set", "second", "up"])
        far.run(["ip", "link", "set", "far", "up"])
        near.run(["nft", "-f", "-"], stdin=_COPY)
        stack.callback(near.run, ["nft", "delete", "table", "netdev", "copies"])
        yield


_COPY = """
table netdev copies {
    chain arriving {
        type filter hook ingress device vxlan.calico priority 0;
        dup to second
    }
}
"""
