"""The kinds of start that an initiation can be measured from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.trial.session import Session
from culvert.vpns.abilities import dropping, enter, resuming


class Start(StrEnum):
    """Starts, by their names in a study."""

    COLD = "cold"
    WARM = "warm"
    RESTART_SELF = "restart-self"
    RESTART_PEER = "restart-peer"


class Precedence(StrEnum):
    """What sets off the handshake of a start, so that none may come before it."""

    NOTHING = "nothing"
    """No separate phases: processes start, or node a keeps trying."""
    COMMAND = "command"
    REQUEST = "request"
    """The first packet for the tunnel: no command is given."""


class Starting(ABC):
    """One kind of start, repeated: ``end`` and ``begin`` alternate.

    ``request_interval_us`` is the interval of the requests that detect recovery.
    """

    request_interval_us: ClassVar[int] = 250
    expected_s: ClassVar[float] = 0.4
    answer_max_s: ClassVar[float] = 15.0

    def prepare(self, session: Session) -> None:
        """Make the state before the first ``end``: a tunnel that is up."""
        session.vpn.reach(session.path)

    def restarted(self, session: Session) -> Node | None:
        """The node whose processes are executed; None if none are."""
        del session
        return None

    def precedes(self, session: Session) -> Precedence:
        """What a handshake must follow."""
        del session
        return Precedence.NOTHING

    @abstractmethod
    def end(self, session: Session) -> None:
        """End the tunnel."""

    @abstractmethod
    def begin(self, session: Session) -> None:
        """Give the command that brings the tunnel up."""

    def started(self, session: Session) -> Sequence[Process]:
        """The processes that the last ``begin`` executed."""
        node = self.restarted(session)
        return session.vpn.processes[node.name] if node is not None else ()


class Cold(Starting):
    """The initiator is executed without any state; the responder waits, and has forgotten it."""

    def restarted(self, session: Session) -> Node | None:
        return session.source

    def end(self, session: Session) -> None:
        """End the initiator as a user would, so that the responder forgets it."""
        session.vpn.leave(session.source)

    def begin(self, session: Session) -> None:
        session.vpn.join(session.source)
        session.vpn.reach(session.path)


class Warm(Starting):
    """Both sides run without a tunnel, and the initiator is requested to initiate."""

    expected_s: ClassVar[float] = 0.15

    def precedes(self, session: Session) -> Precedence:
        """The command, or the first request for a VPN that initiates on demand."""
        return Precedence.REQUEST if session.vpn.on_demand else Precedence.COMMAND

    def end(self, session: Session) -> None:
        """Remove the keys of both sides."""
        dropping(session.vpn).drop(session.path)

    def begin(self, session: Session) -> None:
        """Initiate, unless the first request does."""
        if not session.vpn.on_demand:
            resuming(session.vpn).resume(session.path)


class AfterOwnRestart(Cold):
    """The initiator is killed and executed anew; the responder still has the old tunnel."""

    def end(self, session: Session) -> None:
        session.vpn.crash(session.source)


class AfterPeerRestart(Starting):
    """The responder is killed and executed anew; the initiator keeps its tunnel for a while."""

    request_interval_us: ClassVar[int] = 1000  # it may take seconds; each request is recorded
    expected_s: ClassVar[float] = 15.0
    answer_max_s: ClassVar[float] = 60.0

    def restarted(self, session: Session) -> Node | None:
        return session.target

    def end(self, session: Session) -> None:
        session.vpn.crash(session.target)

    def begin(self, session: Session) -> None:
        enter(session.vpn, session.target)


STARTS: Mapping[Start, type[Starting]] = {
    Start.COLD: Cold,
    Start.WARM: Warm,
    Start.RESTART_SELF: AfterOwnRestart,
    Start.RESTART_PEER: AfterPeerRestart,
}
