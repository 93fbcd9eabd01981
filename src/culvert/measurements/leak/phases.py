"""What happens to the client's tunnel while its applications send: one phase a trial."""

from __future__ import annotations

import signal
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from culvert.errors import NotPossible
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.measurements.leak.client import global_ipv6, provider_of
from culvert.measurements.leak.resolver import Resolver
from culvert.measurements.tunnel.events import roamed
from culvert.trial.session import Session
from culvert.vpns.abilities import dropping, resuming
from culvert.vpns.variant import LEAVE_OUT


class Phase(StrEnum):
    """Phases, by their names in a study."""

    UP = "up"
    RUN = "run"
    KILL = "kill"
    STOP = "stop"
    RECONNECT = "reconnect"
    ROAM = "roam"
    LINK = "link"
    RESOLVER = "resolver"
    SUSPEND = "suspend"


@dataclass(frozen=True)
class PhaseAction(ABC):
    """One phase. The watch covers ``cause`` and ``hold_s`` seconds after it; between two steps of
    ``cause`` are as many. ``resolver`` is the client's."""

    resolver: Resolver
    hold_s: float

    up_before: ClassVar[bool] = True
    """Whether the tunnel is up when the phase begins."""

    def require(self, session: Session) -> None:
        """Raise NotPossible, with the reason, for a VPN that has no such phase."""
        if session.vpn.outer_flow is None:
            raise NotPossible("none", "it has no tunnel for this event", LEAVE_OUT)

    @abstractmethod
    def cause(self, session: Session) -> None:
        """Cause it; returns when all its steps are done."""

    def undo(self, session: Session) -> None:  # noqa: B027 - most need nothing
        """After the watch: what the tunnel needs to come up again as it was."""

    def halted(self, session: Session) -> tuple[Process, ...]:
        """Processes that the phase stops and continues."""
        del session
        return ()


class Up(PhaseAction):
    """The tunnel comes up, from the user's command on."""

    up_before: ClassVar[bool] = False

    def cause(self, session: Session) -> None:
        session.vpn.reach(session.path)


class Run(PhaseAction):
    """The tunnel runs, and nothing is done to it."""

    def require(self, session: Session) -> None:
        """Everybody can do nothing: the baseline shows here that leaks are seen."""

    def cause(self, session: Session) -> None:
        """Do nothing to the tunnel."""


class Kill(PhaseAction):
    """The client's programs of the VPN get SIGKILL."""

    def cause(self, session: Session) -> None:
        session.vpn.crash(session.source)


class Stop(PhaseAction):
    """The user stops the client."""

    def cause(self, session: Session) -> None:
        session.vpn.leave(session.source)


class Reconnect(PhaseAction):
    """The tunnel ends while the client's programs run, and is brought up again."""

    def require(self, session: Session) -> None:
        super().require(session)
        resuming(session.vpn)

    def cause(self, session: Session) -> None:
        dropping(session.vpn).drop(session.path)
        time.sleep(self.hold_s)  # part of the method
        if not session.vpn.on_demand:
            resuming(session.vpn).resume(session.path)


class Roam(PhaseAction):
    """The provider gives the client another address; its routes stay."""

    def cause(self, session: Session) -> None:
        client, underlay = session.source, session.source.underlay
        # Otherwise the new address, which is secondary, would be removed with the old one.
        client.set_sysctl(f"net/ipv4/conf/{underlay.device}/promote_secondaries", "1")
        client.add_address(underlay.device, roamed(underlay.address))
        _ip(client, "address", "del", str(underlay.address), "dev", underlay.device)

    def undo(self, session: Session) -> None:
        """Some VPNs have the first address in their configuration."""
        client, underlay = session.source, session.source.underlay
        client.add_address(underlay.device, underlay.address)
        _ip(client, "address", "del", str(roamed(underlay.address)), "dev", underlay.device)


class Link(PhaseAction):
    """The client's link goes down, and comes up again with the addresses and default routes that a
    network manager gives it anew."""

    def cause(self, session: Session) -> None:
        client, underlay = session.source, session.source.underlay
        ipv6 = global_ipv6(client)
        client.set_link(underlay.device, up=False)
        time.sleep(self.hold_s)  # part of the method
        client.set_link(underlay.device, up=True)
        provider = provider_of(session, client)
        _default(client, provider.address.ip.compressed, underlay.device)
        for address in ipv6[:1]:
            _ip(client, "address", "replace", str(address), "dev", underlay.device)
            _default(client, address.network[2].compressed, underlay.device)


class OtherResolver(PhaseAction):
    """The provider names a resolver of its own, on the client's link."""

    def cause(self, session: Session) -> None:
        self.resolver.learn(str(provider_of(session, session.source).address.ip))


@dataclass(frozen=True)
class Suspend(PhaseAction):
    """The machine sleeps: the VPN's programs and the applications are frozen for a while."""

    suspend_s: float

    def halted(self, session: Session) -> tuple[Process, ...]:
        programs = session.vpn.processes[session.source.name]
        return (*programs, *self.resolver.processes, session.a.process)

    def cause(self, session: Session) -> None:
        processes = self.halted(session)
        try:
            for process in reversed(processes):  # the applications first
                session.source.kill(-process.pid, signal.SIGSTOP)
            time.sleep(self.suspend_s)  # part of the method
        finally:
            for process in processes:
                session.source.kill(-process.pid, signal.SIGCONT)


def action_for(phase: Phase, resolver: Resolver, hold_s: float, suspend_s: float) -> PhaseAction:
    """The phase of that name."""
    simple: dict[Phase, type[PhaseAction]] = {
        Phase.UP: Up,
        Phase.RUN: Run,
        Phase.KILL: Kill,
        Phase.STOP: Stop,
        Phase.RECONNECT: Reconnect,
        Phase.ROAM: Roam,
        Phase.LINK: Link,
        Phase.RESOLVER: OtherResolver,
    }
    if phase is Phase.SUSPEND:
        return Suspend(resolver, hold_s, suspend_s)
    return simple[phase](resolver, hold_s)


def _ip(node: Node, *words: str) -> None:
    node.run(["ip", *words])


def _default(node: Node, router: str, device: str) -> None:
    version = "-6" if ":" in router else "-4"
    _ip(node, version, "route", "replace", "default", "via", router, "dev", device)
