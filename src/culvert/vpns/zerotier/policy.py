"""A policy as a network's rules, which the controller distributes and every member applies to what
it sends and receives.

They have no state: an answer needs a rule of its own, by the port or the type of its request. An
answer of TCP has the flag ACK, which the first packet of a connection does not have.
Source: https://docs.zerotier.com/rules and the controller's JSON form of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address

from culvert.vpns.policy import Permit, Policy, Protocol

Rule = dict[str, object]
_ACCEPT: Rule = {"type": "ACTION_ACCEPT"}
_DROP: Rule = {"type": "ACTION_DROP"}
_ARP: Rule = {"type": "MATCH_ETHERTYPE", "etherType": 0x0806}
_ACK: Rule = {"type": "MATCH_CHARACTERISTICS", "mask": f"{0x10:016x}"}
_NUMBERS = {Protocol.TCP: 6, Protocol.UDP: 17, Protocol.ICMP: 1}
_ECHO, _ECHO_REPLY = 8, 0
"""Types of ICMP (RFC 792)."""


def rules(policy: Policy, addresses: Mapping[str, IPv4Address]) -> Sequence[Rule]:
    """``addresses`` are the inner addresses of members, by name. An action applies to packets that
    match all rules since the action before it."""
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
