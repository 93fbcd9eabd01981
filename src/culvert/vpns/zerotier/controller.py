"""ZeroTier's controller: the network, its members and rules, by its HTTP interface on the node.

Sources: https://docs.zerotier.com/api/service/ref-v1, https://docs.zerotier.com/rules
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv4Interface

from culvert.vpns.authoring import NotPossible, Permit, Policy, Protocol
from culvert.vpns.parts.http import request
from culvert.vpns.zerotier.home import Home
from culvert.vpns.zerotier.world import Identity

Rule = dict[str, object]
_ACCEPT: Rule = {"type": "ACTION_ACCEPT"}
_DROP: Rule = {"type": "ACTION_DROP"}
_ARP: Rule = {"type": "MATCH_ETHERTYPE", "etherType": 0x0806}
_ACK: Rule = {"type": "MATCH_CHARACTERISTICS", "mask": f"{0x10:016x}"}
_NUMBERS = {Protocol.TCP: 6, Protocol.UDP: 17, Protocol.ICMP: 1}
_ECHO, _ECHO_REPLY = 8, 0
"""Types of ICMP (RFC 792)."""


def create_network(
    home: Home, members: Mapping[Identity, IPv4Interface], *, mtu: int, ipv6: bool
) -> None:
    """Create the controller's network with these members and their addresses; with ``ipv6`` also
    those that follow from their identities (RFC 4193).

    Raises NotPossible if the program has no controller, VpnError if it refuses.
    """
    if '"controller"' not in home.cli("/controller"):
        raise NotPossible(
            f"ZeroTier's controller on node {home.node.name}",
            "this zerotier-one lacks it, as the vendor's packages do from 1.16 on",
            "install zerotier-one 1.14.2",
        )
    settings = {
        "name": "lab",
        "private": True,
        "mtu": mtu,
        "v4AssignMode": {"zt": True},
        "v6AssignMode": {"rfc4193": ipv6},
        "routes": [{"target": str(address.network)} for address in [*members.values()][:1]],
        "enableBroadcast": True,
    }
    _change(home, "", settings)
    for identity, address in members.items():
        admitted = {"authorized": True, "ipAssignments": [str(address.ip)]}
        _change(home, f"/member/{identity.address}", admitted)


def set_rules(home: Home, policy: Policy, addresses: Mapping[str, IPv4Address]) -> None:
    """Replace the network's rules; the controller sends them to the members that are online, and
    every member applies them to what it sends and receives. ``addresses`` are the inner addresses
    of members, by name."""
    _change(home, "", {"rules": rules(policy, addresses)})


def _change(home: Home, place: str, settings: Mapping[str, object]) -> None:
    url = f"http://127.0.0.1:{home.port}/controller/network/{home.identity.network}{place}"
    request(home.node, url, settings, {"X-ZT1-Auth": home.token()})


def rules(policy: Policy, addresses: Mapping[str, IPv4Address]) -> Sequence[Rule]:
    """A policy as a network's rules. An action applies to packets that match all rules since the
    action before it.

    They have no state: an answer needs a rule of its own, by the port or the type of its request.
    An answer of TCP has the flag ACK, which the first packet of a connection does not have.
    """
    if policy.everything:
        return [_ACCEPT]
    found = [_ARP, _ACCEPT]
    for permit in policy.permits:
        source, target = addresses[permit.source], addresses[permit.target]
        found += [*_between(source, target), *_request(permit), _ACCEPT]
        found += [*_between(target, source), *_answer(permit), _ACCEPT]
    return [*found, _DROP]


def _between(source: IPv4Address, target: IPv4Address) -> Sequence[Rule]:
    return (
        {"type": "MATCH_IPV4_SOURCE", "ip": f"{source}/32"},
        {"type": "MATCH_IPV4_DEST", "ip": f"{target}/32"},
    )


def _request(permit: Permit) -> Sequence[Rule]:
    if permit.protocol is Protocol.ICMP:
        return [_icmp(_ECHO)]
    return [_protocol(permit.protocol), *_port("MATCH_IP_DEST_PORT_RANGE", permit.port)]


def _answer(permit: Permit) -> Sequence[Rule]:
    if permit.protocol is Protocol.ICMP:
        return [_icmp(_ECHO_REPLY)]
    found = [_protocol(permit.protocol), *_port("MATCH_IP_SOURCE_PORT_RANGE", permit.port)]
    return [*found, _ACK] if permit.protocol is Protocol.TCP else found


def _icmp(kind: int) -> Rule:
    return {"type": "MATCH_ICMP", "icmpType": kind, "icmpCode": None}


def _protocol(protocol: Protocol) -> Rule:
    return {"type": "MATCH_IP_PROTOCOL", "ipProtocol": _NUMBERS[protocol]}


def _port(kind: str, port: int | None) -> Sequence[Rule]:
    return [] if port is None else [{"type": kind, "start": port, "end": port}]
