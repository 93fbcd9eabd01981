"""Bytes of many clients: those of the gateway's link against the sum, those of each client's link
against its own.

::

    client ── its link ── core ── the gateway's link ── gateway

All links are counted at the core; each must have carried what its clients sent, by the VPN's
overhead. A client whose packets took another form, or another way, is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from culvert.measurements.gateway.crowd import Carried, CrowdTrial
from culvert.measurements.streams.packet import TCP_HEADERS, UDP_HEADERS
from culvert.measurements.streams.tcp_packets import acknowledgements
from culvert.probe.results import DeviceUse
from culvert.proof.reconcile import LinkCount, reconcile
from culvert.topology.graph import Role
from culvert.topology.shapes import CORE
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.trial.traffic import Flow, InnerTraffic, add_flows
from culvert.trial.watch import Watched
from culvert.vpns.base import length_on_underlay

OF_A_CLIENT_BYTES = 3000
"""Of each client during a load: keepalives, a rekey, what its system sends by itself."""
MOST_SHOWN = 3


@dataclass(frozen=True)
class _Way:
    """One direction of one client's packets: handed to the tunnel, and come out of it."""

    client: str
    sent: Flow
    received: Flow


def bytes_reconcile(
    session: Session, trial: CrowdTrial, watched: Watched, echoes: InnerTraffic
) -> list[Check]:
    """A check of each client's link, as one, and one of the gateway's; none where the links are
    real and no core counts them. ``echoes`` are the first client's beside the load."""
    core = watched.others.get(CORE)
    if core is None:
        return []
    devices = _by_neighbour(session, core.devices)
    (gateway,) = session.lab.of_role(Role.GATEWAY)
    down = trial.carried[0].talk.source.role is not Role.CLIENT
    ways = list(_ways(session, trial, echoes, down=down))
    rules = _Rules(session)
    found = [
        (way.client, rules.check(way, devices[way.client], towards=down))
        for way in ways
        if way.client in devices
    ]
    outliers = [(client, check) for client, check in found if not check.passed]
    shown = [f"{client}: {check.detail}" for client, check in outliers[:MOST_SHOWN]]
    checks = [
        Check(
            "bytes reconcile on each client's link",
            not outliers,
            "; ".join(shown) + (f"; {len(outliers)} clients in all" if outliers else "")
            or f"of {len(found)} clients",
            "find the route by which the packets of these clients leave",
            {"outliers": [client for client, _ in outliers], "clients": len(found)},
        )
    ]
    # Without a VPN the core forwards from client to client.
    crosses = session.route is None or gateway.name in (session.path.target, session.route.via)
    if gateway.name in devices and crosses:
        sent, received = [way.sent for way in ways], [way.received for way in ways]
        if trial.carried[0].talk.between_clients:  # what goes back takes the data's direction here
            back = [acknowledgements(one.sent.segments_back) for one in trial.carried]
            sent += [*back, echoes.b_to_a_sent]
            received += [*back, echoes.b_to_a_received]
        whole = _Way(gateway.name, add_flows(*sent), add_flows(*received))
        check = rules.check(whole, devices[gateway.name], towards=not down, clients=len(ways))
        checks.append(replace(check, name="bytes reconcile on the gateway's link"))
    return checks


def _ways(
    session: Session, trial: CrowdTrial, echoes: InnerTraffic, *, down: bool
) -> Iterator[_Way]:
    first = session.source.name
    beside = (
        (echoes.b_to_a_sent, echoes.b_to_a_received)
        if down
        else (echoes.a_to_b_sent, echoes.a_to_b_received)
    )
    included = False
    for one in trial.carried:
        client = one.talk.client
        sent, received = _flows(one, trial.length)
        if client == first:
            included = True
            sent, received = add_flows(sent, beside[0]), add_flows(received, beside[1])
        yield _Way(client, sent, received)
    if not included:
        yield _Way(first, *beside)


def _flows(one: Carried, length: int | None) -> tuple[Flow, Flow]:
    """Inner packets that were sent, and that arrived. Of TCP without acknowledgements, which go the
    other way."""
    sent, sunk = one.sent, one.sunk
    if sent.segments:
        arrived = -(-sunk.bytes // max(sent.mss, 1))
        return (
            Flow(sent.segments, sent.bytes_sent + sent.segments * TCP_HEADERS),
            Flow(arrived, sunk.bytes + arrived * TCP_HEADERS),
        )
    return (
        Flow(sent.packets, sent.bytes + sent.packets * UDP_HEADERS, length),
        Flow(sunk.unique, sunk.unique_bytes + sunk.unique * UDP_HEADERS, length),
    )


class _Rules:
    """The VPN's overhead, computed once for all clients."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._outer_length = cache(partial(length_on_underlay, session.vpn))
        self._inner_mtu = session.inner_mtu(session.source) or session.lab.spec.mtu

    def check(self, way: _Way, device: DeviceUse, *, towards: bool, clients: int = 1) -> Check:
        """``device`` is the core's; ``towards``: its packets towards the neighbour count."""
        spec = self._session.lab.spec
        packets, size = (
            (device.tx_packets, device.tx_bytes)
            if towards
            else (device.rx_packets, device.rx_bytes)
        )
        return reconcile(
            f"of {way.client}",
            sent=way.sent,
            received=way.received,
            link=LinkCount.of_frames(packets, size, "the core"),
            outer_length=self._outer_length,
            inner_mtu=self._inner_mtu,
            ethernet_mtu=spec.mtu,
            super_packets=self._session.link.offloads,
            to_control=LinkCount(0, OF_A_CLIENT_BYTES * clients),
            version=spec.underlay,
        )


def _by_neighbour(session: Session, devices: Sequence[DeviceUse]) -> dict[str, DeviceUse]:
    """The core's devices by the node at the other end of each."""
    by_name = {device.name: device for device in devices}
    networks = session.lab.spec.topology.networks_of(CORE)
    ends = session.lab.attachments(CORE)
    return {
        network.beyond(CORE): by_name[end.device]
        for network, end in zip(networks, ends, strict=True)
        if end.device in by_name
    }
