"""A policy as NetBird's: rules between groups, one group for each member.

A new account has one policy, which permits everything; its rules are replaced. Members between
which no rule is do not connect to each other. Source: https://docs.netbird.io/api/resources/policies
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address

from culvert.vpns.authoring import Permit, Policy, VpnError
from culvert.vpns.netbird.server import OTHER_VERSION, Account, text_of

_EVERYBODY = "All"
"""The group that each account has."""


class Rules:
    """Those of an account; ``addresses`` are the inner addresses of members, by name."""

    def __init__(self, account: Account, addresses: Mapping[str, IPv4Address]) -> None:
        self._account = account
        self._policy = next(iter(account.listed("policies", "name")), {})
        self._groups = {each["name"]: each["id"] for each in account.listed("groups", "name")}
        peers = {each["ip"]: each["id"] for each in account.listed("peers", "ip")}
        for name, address in addresses.items():
            if str(address) not in peers:
                raise VpnError(account.url, f"has no peer {address} (node {name})", "see its log")
            group = account.make(
                "groups", {"name": _group_of(name), "peers": [peers[str(address)]]}
            )
            self._groups[_group_of(name)] = text_of(group, "id", account.url)

    def apply(self, policy: Policy) -> None:
        """Replace them. NetBird accepts no policy without a rule: it is disabled then."""
        permitted = [self._permit(each) for each in policy.permits]
        rules = permitted if permitted and not policy.everything else [self._everything()]
        enabled = policy.everything or bool(permitted)
        body = {"name": self._policy.get("name"), "enabled": enabled, "rules": rules}
        place = text_of(self._policy, "id", self._account.url)
        self._account.put(f"policies/{place}", body)

    def _permit(self, permit: Permit) -> dict[str, object]:
        ports = {} if permit.port is None else {"ports": [str(permit.port)]}
        ends = (_group_of(permit.source), _group_of(permit.target))
        return self._rule(ends, permit.protocol.value, both_ways=False) | ports

    def _everything(self) -> dict[str, object]:
        return self._rule((_EVERYBODY, _EVERYBODY), "all", both_ways=True)

    def _rule(self, ends: tuple[str, str], protocol: str, *, both_ways: bool) -> dict[str, object]:
        if lacking := [each for each in ends if each not in self._groups]:
            raise VpnError(self._account.url, f"has no group {lacking[0]!r}", OTHER_VERSION)
        source, target = (self._groups[each] for each in ends)
        return {
            "name": f"{' to '.join(ends)}, {protocol}",
            "enabled": True,
            "action": "accept",
            "bidirectional": both_ways,
            "protocol": protocol,
            "sources": [source],
            "destinations": [target],
        }


def _group_of(member: str) -> str:
    return f"member {member}"
