"""The traffic through the tunnel, as counted by the sockets inside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flow:
    """Inner IP packets of one direction, counted at one end.

    ``ip_bytes`` counts whole IP packets with headers. ``length`` is set if every packet has the
    same length in bytes. ``option_bytes`` is an upper bound of uncounted TCP options, which are
    not in ``ip_bytes``. ``connections`` counts those of TCP that were made for its packets, where
    that is known.
    """

    packets: int
    ip_bytes: int
    length: int | None = None
    option_bytes: int = 0
    connections: int = 0


@dataclass(frozen=True)
class InnerTraffic:
    """Both directions: traffic handed to the tunnel, and traffic that came out of it."""

    a_to_b_sent: Flow
    a_to_b_received: Flow
    b_to_a_sent: Flow
    b_to_a_received: Flow


def add_flows(*flows: Flow) -> Flow:
    """The sum of flows; it has a length only if all packets have the same."""
    counted = [flow for flow in flows if flow.packets]
    lengths = {flow.length for flow in counted}
    return Flow(
        packets=sum(flow.packets for flow in counted),
        ip_bytes=sum(flow.ip_bytes for flow in counted),
        length=lengths.pop() if len(lengths) == 1 else None,
        option_bytes=sum(flow.option_bytes for flow in counted),
        connections=sum(flow.connections for flow in counted),
    )


def add_traffic(*traffics: InnerTraffic) -> InnerTraffic:
    """The sum of traffics, in both directions and at both ends."""
    return InnerTraffic(
        a_to_b_sent=add_flows(*(each.a_to_b_sent for each in traffics)),
        a_to_b_received=add_flows(*(each.a_to_b_received for each in traffics)),
        b_to_a_sent=add_flows(*(each.b_to_a_sent for each in traffics)),
        b_to_a_received=add_flows(*(each.b_to_a_received for each in traffics)),
    )


def turned(traffic: InnerTraffic) -> InnerTraffic:
    """Traffic with a and b exchanged, for a stream that b sends."""
    return InnerTraffic(
        a_to_b_sent=traffic.b_to_a_sent,
        a_to_b_received=traffic.b_to_a_received,
        b_to_a_sent=traffic.a_to_b_sent,
        b_to_a_received=traffic.a_to_b_received,
    )


def echo_traffic(sent: int, reflected: int, received: int, size: int) -> InnerTraffic:
    """Echo requests from a and their answers, all of ``size`` bytes."""
    return InnerTraffic(
        a_to_b_sent=Flow(sent, sent * size, size),
        a_to_b_received=Flow(reflected, reflected * size, size),
        b_to_a_sent=Flow(reflected, reflected * size, size),
        b_to_a_received=Flow(received, received * size, size),
    )


def unseen_echo_traffic(sent: int, received: int, size: int) -> InnerTraffic:
    """The traffic of requests where the far end counts nothing: it answered at most the sent and at
    least the received ones."""
    there, back = Flow(sent, sent * size, size), Flow(received, received * size, size)
    return InnerTraffic(there, back, there, back)
