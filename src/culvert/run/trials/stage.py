"""What a trial is executed on: how its lab is made, its sessions are opened and its paths proved.

Tunnels are those that Culvert brings up, in any lab; ``culvert.run.pods`` has the paths of a
cluster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Set
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from pydantic import BaseModel

from culvert.labs.base import Lab
from culvert.labs.together import at_once
from culvert.measurements.base import Measurement
from culvert.proof.alive import ends_in_silence, still_carries, survivors
from culvert.proof.canary import send_canary
from culvert.proof.interference import Stops, left_alone
from culvert.proof.judge import judge_outcome
from culvert.proof.route import judge_data_path, judge_route
from culvert.run.trials.paths import open_session
from culvert.topology.graph import Path
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import MaxSizes, Session
from culvert.vpns.base import Vpn

LabFactory = Callable[[LabSpec], Lab]


class PathProof(ABC):
    """What one path must pass so that its figures count; its methods are called in this order."""

    @abstractmethod
    def before(self) -> list[Check]:
        """Of the path that is up."""

    def meanwhile(self) -> AbstractContextManager[None]:
        """Watch while the body measures; most measurements watch by themselves."""
        return nullcontext()

    def leaks(self) -> list[Check]:
        """The failed checks of what was seen though the measurement has failed: they count for
        more than its error."""
        return []

    @abstractmethod
    def after(self, outcome: Outcome) -> list[Check]:
        """Of what was measured and watched."""

    @abstractmethod
    def last(self) -> list[Check]:
        """Of the path, again."""

    def add_accounts(self, outcome: Outcome) -> None:  # noqa: B027 - most have none
        """Add figures of what only the proof has watched."""


class Stage(ABC):
    """Labs of one kind."""

    observed = True
    """Whether the path of the traffic is looked at."""
    brings_up = True
    """Whether the time until the tunnel is up is one of the trial's figures."""

    @abstractmethod
    def lab(self, spec: LabSpec) -> Lab[Any]:
        """Make a lab of this kind."""

    def version(self, vpn: Vpn[Any], lab: Lab[Any]) -> str:
        return "; ".join(dict.fromkeys(at_once(vpn.version, lab.hosts)))

    def facts(self, vpn: Vpn[Any], lab: Lab[Any]) -> Mapping[str, str]:
        """What a trial's evidence has of the VPN before it is up."""
        del lab
        return vpn.variant.facts

    @abstractmethod
    def session(
        self, stack: ExitStack, lab: Lab[Any], vpn: Vpn[Any], path: Path, *, busy: Set[str]
    ) -> Session[Any]:
        """A session on a path, which the stack closes; nodes that are ``busy`` have no probe."""

    @abstractmethod
    def proof(
        self, session: Session[Any], measurement: Measurement[Any], parameters: BaseModel
    ) -> PathProof:
        """How the session's path is proved."""


class Tunnels(Stage):
    """Any lab in which Culvert brings the VPN up."""

    def __init__(self, make_lab: LabFactory, max_sizes: MaxSizes | None = None) -> None:
        """``max_sizes`` are those of earlier trials, if there were any."""
        self._make_lab = make_lab
        self._max_sizes = max_sizes or MaxSizes()

    def lab(self, spec: LabSpec) -> Lab:
        return self._make_lab(spec)

    def session(
        self, stack: ExitStack, lab: Lab, vpn: Vpn, path: Path, *, busy: Set[str]
    ) -> Session:
        return open_session(stack, lab, vpn, path, busy=busy, max_sizes=self._max_sizes)

    def proof(
        self, session: Session, measurement: Measurement[Any], parameters: BaseModel
    ) -> PathProof:
        del parameters
        return TunnelProof(session, drives=measurement.drives_tunnel)


class TunnelProof(PathProof):
    """Data path, route and canary before, everything that was counted and captured after."""

    def __init__(self, session: Session, *, drives: bool) -> None:
        """``drives``: the measurement starts and stops the tunnel, which is proved once it ends."""
        self._session = session
        self._drives = drives
        agents = [probe.process for probe in session.probes]
        self._stops = Stops(session.vpn, [*agents, *session.lab.programs])

    def before(self) -> list[Check]:
        return [] if self._drives else before(self._session)

    def after(self, outcome: Outcome) -> list[Check]:
        session = self._session
        return [
            *survivors(session.vpn),
            *left_alone(outcome),
            *self._stops.checks(outcome.halted),
            *judge_outcome(session, outcome),
            *ends_in_silence(session, outcome),
        ]

    def last(self) -> list[Check]:
        session = self._session
        if self._drives:
            return before(session)
        return [still_carries(session), judge_route(session, "at the end")]


def before(session: Session) -> list[Check]:
    """The checks that a path must pass before its figures count."""
    ends = (session.source, session.target)
    return [
        judge_data_path(session.vpn, ends),
        judge_route(session, "at the start"),
        *send_canary(session),
    ]
