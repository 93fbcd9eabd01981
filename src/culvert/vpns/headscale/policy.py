"""A policy in Headscale's form: HuJSON of rules by the members' addresses.

Source: https://headscale.net/stable/ref/acls/. What no rule accepts is dropped, but members answer
pings of whoever may send them anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import IPv4Address

from culvert.vpns.policy import Permit, Policy

_EVERYTHING = {"action": "accept", "src": ["*"], "dst": ["*:*"]}


def as_json(policy: Policy, addresses: Mapping[str, IPv4Address]) -> str:
    """``addresses`` are the inner addresses of members, by name."""
    rules = [_rule(permit, addresses) for permit in policy.permits]
    return json.dumps({"acls": [_EVERYTHING] if policy.everything else rules})


def _rule(permit: Permit, addresses: Mapping[str, IPv4Address]) -> dict[str, object]:
    port = "*" if permit.port is None else permit.port
    return {
        "action": "accept",
        "proto": permit.protocol.value,
        "src": [f"{addresses[permit.source]}/32"],
        "dst": [f"{addresses[permit.target]}/32:{port}"],
    }
