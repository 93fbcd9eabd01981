"""From what state a tunnel is brought up: the starts that an initiation can be measured from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar

from culvert.labs.base import Process
from culvert.trial.session import Session


class Start(StrEnum):
    """By the words of a study."""

    COLD = "cold"
    WARM = "warm"
    RESTART_SELF = "restart-self"
    RESTART_PEER = "restart-peer"


class Starting(ABC):
    """One kind of start, done again and again: ``end`` and ``begin`` in turn.

    ``restarts`` is the node whose processes it executes, if any; ``asks_every_us`` the interval
    of the requests that find out when packets go through again.
    """

    restarts: ClassVar[str | None] = None
    asks_every_us: ClassVar[int] = 250
    expected_s: ClassVar[float] = 0.4
    answer_max_s: ClassVar[float] = 15.0

    def prepare(self, session: Session) -> None:
        """The state that comes before the first ``end``: a tunnel that is up."""
        session.vpn.connect(session.lab.a)

    @abstractmethod
    def end(self, session: Session) -> None:
        """End the tunnel."""

    @abstractmethod
    def begin(self, session: Session) -> None:
        """Give the command after which it must come up."""

    def started(self, session: Session) -> Sequence[Process]:
        """The processes that the last ``begin`` has executed."""
        return session.vpn.processes[self.restarts] if self.restarts else ()


class Cold(Starting):
    """Node a's side is executed, and knows nothing; node b is up, has forgotten it, and waits."""

    restarts: ClassVar[str | None] = "a"

    def end(self, session: Session) -> None:
        """End a's processes, and let b forget."""
        session.vpn.disconnect(session.lab.a)

    def begin(self, session: Session) -> None:
        """Start a."""
        session.vpn.connect(session.lab.a)


class Warm(Starting):
    """Both sides run without a tunnel, and node a is told to initiate."""

    expected_s: ClassVar[float] = 0.15

    def end(self, session: Session) -> None:
        """Have both forget their keys."""
        session.vpn.drop(session.lab.a)

    def begin(self, session: Session) -> None:
        """Initiate."""
        session.vpn.initiate(session.lab.a)


class RestartSelf(Starting):
    """Node a's side is executed anew; node b still believes in the tunnel that was."""

    restarts: ClassVar[str | None] = "a"

    def end(self, session: Session) -> None:
        """End a's processes only."""
        session.vpn.end_initiator(session.lab.a)

    def begin(self, session: Session) -> None:
        """Start a."""
        session.vpn.connect(session.lab.a)


class RestartPeer(Starting):
    """Node b's side is executed anew; node a still believes in the tunnel, until it notices."""

    restarts: ClassVar[str | None] = "b"
    asks_every_us: ClassVar[int] = 1000  # it may take seconds, and each request is recorded
    expected_s: ClassVar[float] = 15.0
    answer_max_s: ClassVar[float] = 60.0

    def end(self, session: Session) -> None:
        """End b's processes only."""
        session.vpn.end_responder(session.lab.b)

    def begin(self, session: Session) -> None:
        """Start b."""
        session.vpn.listen(session.lab.b)


def starting(start: Start) -> Starting:
    """The start of that name."""
    match start:
        case Start.COLD:
            return Cold()
        case Start.WARM:
            return Warm()
        case Start.RESTART_SELF:
            return RestartSelf()
        case Start.RESTART_PEER:
            return RestartPeer()
