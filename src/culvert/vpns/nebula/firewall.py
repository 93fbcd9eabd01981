"""A policy as Nebula's firewall rules, which each member has in its configuration.

Source: https://nebula.defined.net/docs/config/firewall. What no rule permits is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from culvert.labs.node import Node
from culvert.vpns.base import Vpn
from culvert.vpns.facts import hang_up
from culvert.vpns.nebula.state import Consoles
from culvert.vpns.policy import Policy

ANY = {"port": "any", "proto": "any", "host": "any"}


def apply(vpn: Vpn, path: str, policy: Policy, consoles: Consoles) -> None:
    """Replace the rules for what arrives in the configuration ``path`` of each member, which reads
    it on SIGHUP; that ends the sessions of its console."""
    for node in vpn.lab.members:
        configuration = json.loads(node.read(str(node.directory / path)))
        configuration["firewall"]["inbound"] = inbound(vpn, node, policy)
        node.write(path, json.dumps(configuration, indent=1))
    for node in vpn.lab.members:
        hang_up(node, vpn.processes[node.name][0])
        consoles.close(node)


def inbound(vpn: Vpn, node: Node, policy: Policy) -> Sequence[dict[str, str]]:
    """The rules for what arrives at a node."""
    if policy.everything:
        return [ANY]
    return [
        {
            "port": "any" if permit.port is None else str(permit.port),
            "proto": permit.protocol.value,
            "cidr": f"{vpn.inner(vpn.lab.nodes[permit.source]).ip}/32",
        }
        for permit in policy.permits
        if permit.target == node.name
    ]
