"""The network of a cluster in the place of a VPN: pods use it as it is."""

from __future__ import annotations

from ipaddress import IPv4Interface

from culvert.labs.base import Lab
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.labs.node import Node
from culvert.topology.ip import Address
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn


class ClusterNetwork(NoVpn):
    """Named after the VPN under the cluster: the pods see no tunnel of their own."""

    def __init__(self, under: Vpn, lab: KubernetesLab) -> None:
        super().__init__(NoVpn.variants[0])
        self._under = under
        self._cluster = lab
        self.prepare(lab)

    @property
    def id(self) -> str:
        """That of the VPN under the cluster."""
        return self._under.id

    def inner(self, node: Node) -> IPv4Interface:
        """The pod's address; the service's for the target behind one."""
        service = self._cluster.service_address
        if service is not None and node.name == self._cluster.b.name:
            return IPv4Interface(f"{service}/32")
        return node.underlay.address

    def traffic_address(self, node: Node) -> Address:
        return self.inner(node).ip

    def stop(self, lab: Lab) -> None:
        del lab
