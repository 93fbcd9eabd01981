"""The internet of a topology with a public host: IPv6 beside IPv4 on each link, and a gateway that
forwards its clients' packets to it under its own address.

::

    client ── core ─┬─ gateway     masquerades what it forwards
                    └─ public
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv6Interface, IPv6Network

from culvert.labs.namespace import sysctls
from culvert.labs.netns.node import NetnsNode
from culvert.labs.router import firewall
from culvert.topology.graph import Role
from culvert.topology.ip import IpVersion
from culvert.topology.plan import PUBLIC_IPV6, Plug, UnderlayPlan

_EXIT = """\
table inet culvert_exit {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "u0" masquerade
  }
}
"""
_FORWARDS = {**sysctls.ROUTER[IpVersion.V4], "net/ipv6/conf/all/forwarding": "1"}


def network_of(number: int) -> IPv6Network:
    """The IPv6 network of a cable, by its number."""
    return IPv6Network((int(PUBLIC_IPV6.network_address) + (number << 64), 64))


def set_up(plan: UnderlayPlan, nodes: Mapping[str, NetnsNode]) -> None:
    """Give every link IPv6, every node but routers a default route of it, and let routers and
    gateways forward."""
    for node in nodes.values():
        if node.role in (Role.ROUTER, Role.GATEWAY):
            node.inside(lambda: sysctls.apply(_FORWARDS))
    for number, cable in enumerate(plan.cables):
        network = network_of(number)
        near, router = network[1], network[2]
        for plug, address in ((cable.left, near), (cable.right, router)):
            _give(nodes[plug.node], plug, IPv6Interface((address, network.prefixlen)))
        leaf = nodes[cable.left.node]
        leaf.run(["ip", "-6", "route", "add", "default", "via", str(router), "dev", "u0"])
    for node in nodes.values():
        if node.role is Role.GATEWAY:
            firewall.apply(node, _EXIT)


def _give(node: NetnsNode, plug: Plug, address: IPv6Interface) -> None:
    """As on a usual machine: a link-local address, and router advertisements are accepted; but no
    wait for others with the same address."""
    device = plug.attachment.device
    values = {"accept_dad": "0", "disable_ipv6": "0"}
    settings = {f"{sysctls.IPV6}/conf/{device}/{name}": value for name, value in values.items()}
    node.inside(lambda: sysctls.apply(settings))
    node.run(["ip", "address", "add", str(address), "dev", device])
