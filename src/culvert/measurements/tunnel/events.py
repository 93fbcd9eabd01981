"""Events that happen to a tunnel while packets go through it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from enum import StrEnum
from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.node import Node
from culvert.topology.ip import IpVersion
from culvert.topology.shapes import Shape
from culvert.trial.session import Session
from culvert.vpns.abilities import enter, rekeying
from culvert.vpns.variant import LEAVE_OUT


class Event(StrEnum):
    """Events, by their names in a study."""

    RESTART_PEER = "restart-peer"
    RESTART_SELF = "restart-self"
    SILENCE = "silence"
    ROAM = "roam"
    REKEY = "rekey"


class EventAction(ABC):
    """An event. ``stream_goes_on``: packets are sent while it happens."""

    stream_goes_on: ClassVar[bool] = True
    counts_from_its_end: ClassVar[bool] = False
    """Recovery counts from the end of the event, because the event includes waiting."""
    tail_s: ClassVar[float] = 0.2
    """How long the stream is watched after packets went through again."""

    @abstractmethod
    def cause(self, session: Session) -> None:
        """Cause the event; returns after the last command."""


class RestartPeer(EventAction):
    """The responder is killed and restarted; the initiator is not notified."""

    def cause(self, session: Session) -> None:
        session.vpn.crash(session.target)
        enter(session.vpn, session.target)


class RestartSelf(EventAction):
    """The initiator is killed and restarted."""

    def cause(self, session: Session) -> None:
        session.vpn.crash(session.source)
        session.vpn.join(session.source)
        session.vpn.reach(session.path)


class Silence(EventAction):
    """Nothing is sent for a while, then packets again: at once, or after a new handshake?"""

    stream_goes_on: ClassVar[bool] = False
    counts_from_its_end: ClassVar[bool] = True

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s

    def cause(self, session: Session) -> None:
        del session
        time.sleep(self._silence_s)


class Roam(EventAction):
    """Node a's address on the underlay changes, as from one network to another."""

    def cause(self, session: Session) -> None:
        """Replace the address in one batch, and set the neighbour entries of both kernels."""
        if session.vpn.outer_flow is None:
            raise NotPossible(
                session.vpn.id, "cannot change its address: it has no tunnel", LEAVE_OUT
            )
        if session.lab.spec.topology.name != Shape.PAIR:
            raise NotPossible("roaming", "is for two nodes on one link", 'use topology = "pair"')
        if session.lab.spec.underlay is IpVersion.V6:
            raise NotPossible(
                "roaming", "changes addresses of IPv4", "exclude it in conditions over IPv6"
            )
        a, b = session.source, session.target
        old, new = a.underlay.address, roamed(a.underlay.address)
        _ip(b, _neighbour(b, new, _hardware_address(a)))
        _ip(
            a,
            f"address del {old} dev {a.underlay.device}",
            f"address add {new} dev {a.underlay.device}",
            # The kernel removed permanent neighbours with the last address.
            _neighbour(a, b.underlay.address, _hardware_address(b)),
        )


class Rekey(EventAction):
    """New keys for a tunnel that is up."""

    counts_from_its_end: ClassVar[bool] = True
    tail_s: ClassVar[float] = 1.0

    def cause(self, session: Session) -> None:
        """Request it of the driver, or wait for the VPN to do it."""
        rekeying(session.vpn).rekey(session.path)


def action_for(event: Event, *, silence_s: float) -> EventAction:
    """The event of that name."""
    match event:
        case Event.RESTART_PEER:
            return RestartPeer()
        case Event.RESTART_SELF:
            return RestartSelf()
        case Event.SILENCE:
            return Silence(silence_s)
        case Event.ROAM:
            return Roam()
        case Event.REKEY:
            return Rekey()


def roamed(address: IPv4Interface) -> IPv4Interface:
    """Another valid host address, half a network away or the next free one."""
    network = address.network
    offset = int(address.ip) - int(network.network_address)
    taken = (network.network_address, network.broadcast_address, address.ip)
    candidates = (
        network.network_address
        + (offset + network.num_addresses // 2 + step) % network.num_addresses
        for step in range(network.num_addresses)
    )
    other = next(candidate for candidate in candidates if candidate not in taken)
    return IPv4Interface(f"{other}/{network.prefixlen}")


def _hardware_address(node: Node) -> str:
    shown = node.run(["ip", "-br", "link", "show", "dev", node.underlay.device]).stdout
    return shown.split()[2]


def _neighbour(node: Node, address: IPv4Interface, hardware_address: str) -> str:
    device = node.underlay.device
    return f"neighbour replace {address.ip} lladdr {hardware_address} dev {device} nud permanent"


def _ip(node: Node, *commands: str) -> None:
    node.run(["ip", "-batch", "-"], stdin="".join(f"{command}\n" for command in commands))
