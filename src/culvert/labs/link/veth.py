"""The virtual cable: a pair of veth devices between two namespaces.

Both ends are created in their namespaces, so that the host never has an interface of the lab.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Interface
from typing import Any

from culvert.labs.link import offloads
from culvert.labs.link.token_bucket import limit, token_bucket
from culvert.labs.namespace import interfaces as links
from culvert.labs.namespace import sysctls
from culvert.labs.namespace.thread import NamespaceThread
from culvert.topology.ip import Interface
from culvert.topology.link.spec import LinkSpec


@dataclass(frozen=True)
class CableEnd:
    """One end of a cable: its namespace, name and addresses."""

    namespace: NamespaceThread
    device: str
    address: IPv4Interface
    mac: str
    ipv6: IPv6Interface | None = None

    @property
    def addresses(self) -> Sequence[Interface]:
        return (self.address,) if self.ipv6 is None else (self.address, self.ipv6)


def connect(left: CableEnd, right: CableEnd, spec: LinkSpec) -> None:
    """Create the cable. Both ends have each other's address, and pass packets when ``wait_ready``
    returns."""
    queues = {"num_tx_queues": spec.queues, "num_rx_queues": spec.queues} if spec.queues > 1 else {}
    what = f"veth {left.device} - {right.device}"
    descriptor = os.open(right.namespace.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        left.namespace.netlink(
            lambda netlink: netlink.link(
                "add",
                kind="veth",
                ifname=left.device,
                address=left.mac,
                mtu=spec.mtu,
                **queues,
                peer={
                    **queues,
                    "ifname": right.device,
                    "address": right.mac,
                    "mtu": spec.mtu,
                    "net_ns_fd": descriptor,
                },
            ),
            what,
        )
    finally:
        os.close(descriptor)
    configure(left, right, spec)
    if spec.rate_bps is not None:
        bucket = token_bucket(spec.rate_bps, spec.mtu)
        for end in (left, right):
            limit(end.namespace, end.device, bucket)


def configure(left: CableEnd, right: CableEnd, spec: LinkSpec) -> None:
    """Set addresses and neighbours of both ends of any kind of cable, and bring them up."""
    _configure(left, right, spec)
    _configure(right, left, spec)


def wait_ready(left: CableEnd, right: CableEnd) -> None:
    """Wait until both ends pass packets; raises DeadlineExceeded."""
    for end in (left, right):
        links.wait_ready(end.namespace, end.device)
        wait_local(end)


def wait_local(end: CableEnd) -> None:
    """Wait until an end that has its carrier accepts packets to its addresses; raises
    DeadlineExceeded."""
    if end.ipv6 is not None:
        links.wait_local(end.namespace, end.ipv6)


def _configure(end: CableEnd, peer: CableEnd, spec: LinkSpec) -> None:
    def set_up(netlink: Any) -> None:
        index = links.index_of(end.device)
        for each in end.addresses:
            netlink.addr(
                "add",
                index=index,
                family=links.family(each.ip),
                address=str(each.ip),
                prefixlen=each.network.prefixlen,
            )
        netlink.link("set", index=index, state="up")
        # Address resolution during a trial would add a packet and a delay to the figures.
        for each in peer.addresses:
            netlink.neigh(
                "add",
                family=links.family(each.ip),
                dst=str(each.ip),
                lladdr=peer.mac,
                ifindex=index,
                state="permanent",
            )

    if not spec.offloads:
        end.namespace.call(lambda: offloads.switch_off(end.device))
    if end.ipv6 is not None:
        end.namespace.call(lambda: sysctls.apply(sysctls.of_ipv6_device(end.device)))
    end.namespace.netlink(set_up, f"{spec.kind} {end.device}")
