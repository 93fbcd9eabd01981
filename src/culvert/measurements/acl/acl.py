"""``acl``: how long until a policy holds, and whether it does what it states.

::

    open ── policy ──── forbidden packets still arrive ──── held ── each flow tried ── open again
                └────────────── hold ───────────────────────┘

Four policies, one after the other: each permits one flow from the path's source to its target (a
TCP port, a UDP port, pings), the last permits nothing. A stream of a UDP flow that each of them
forbids shows when it holds: the last of its packets that arrives. Then every flow is tried: the one
that is permitted, another port of its protocol, and those of the other protocols.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from culvert.errors import DeadlineExceeded, ProbeError, VpnError
from culvert.measurements.acl.flows import Flow, Services
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.parameters import RATE
from culvert.measurements.streams.packet import SMALLEST
from culvert.measurements.streams.udp_stream import UdpRun, UdpStream
from culvert.measurements.tunnel.looking import EndCaptures
from culvert.metrics import Better, MetricSpec, Weight
from culvert.probe.results import FirstAnswer, parse
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth, exactly
from culvert.results import Metric, Series
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, PerSecond
from culvert.vpns.abilities import OPEN, Policy, Protocol, enforcing
from culvert.waiting import wait_until

LEAD_S = 0.2
"""Duration of the stream before the policy."""
SILENT_S = 0.3
"""A flow without an answer for this long, twice, is blocked."""
ASK_EVERY_US = 1000
EVENT_S = 20.0
"""Upper bound of the duration of the commands of a policy."""
SLACK_S = 5.0


class AclParameters(BaseParameters):
    """Parameters of the stream that shows when a policy holds, and of the flows that are tried."""

    rate_pps: Annotated[PerSecond, Field(ge=10, le=100_000), RATE] = Field(1000, alias="rate")
    """Packets per second of the forbidden stream: its period is the resolution."""
    try_s: Annotated[DurationS, Field(gt=0, le=60)] = Field(1.0, alias="try")
    """Longest time to wait for an answer of a flow."""
    settle_max_s: Annotated[DurationS, Field(gt=0, le=600)] = Field(30.0, alias="settle_max")
    """Longest time to wait until a policy holds."""


class Acl(Measurement[AclParameters]):
    """Policies on one path."""

    kind: ClassVar[str] = "acl"
    title: ClassVar[str] = "Policy"
    summary: ClassVar[str] = "time until a policy holds, and what it permits and forbids"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec("enforcement_delay_ms", "ms", "Until a policy holds", Better.LESS, Weight.MAIN),
        MetricSpec(
            "open_ms",
            "ms",
            "Until a flow is permitted again",
            Better.LESS,
            Weight.KEY,
            ways=1,  # the request may be on its way when the command is given
        ),
        MetricSpec("apply_ms", "ms", "Duration of the commands of a policy"),
        MetricSpec("resolution_ms", "ms", "Time between two packets of the forbidden stream"),
        MetricSpec(
            "permitted_share", "1", "Permitted flows that were answered", Better.MORE, Weight.KEY
        ),
        MetricSpec(
            "forbidden_share", "1", "Forbidden flows that were answered", Better.LESS, Weight.KEY
        ),
    )
    Parameters = AclParameters
    accounts: ClassVar[bool] = False

    @classmethod
    def estimate_s(cls, parameters: AclParameters) -> float:
        return 4 * (LEAD_S + 2 * SILENT_S + parameters.try_s + 2.0)

    @classmethod
    def truths(cls, known: KnownPath, parameters: AclParameters) -> Sequence[Truth]:
        del parameters
        back_ns = min(known.one_way_ns(upward=upward) for upward in (True, False))
        found = known.at_least(["open_ms"], "ms", back_ns, "an answer crosses the links")
        if known.plain and not known.lossy:
            found.append(exactly("permitted_share", 1.0, "three policies permit a flow each"))
        return found

    def run(self, session: Session, parameters: AclParameters) -> Outcome:
        """Apply each policy, try each flow, open again."""
        captures = EndCaptures(session)
        services = Services(session, idle_s=4 * (EVENT_S + 2 * parameters.settle_max_s))
        policies = _policies(services)
        enforcing(session.vpn).apply_policy(OPEN)  # what has none is refused before any figure
        rounds = []
        for name, permitted in policies.items():
            rounds.append(_Round(session, parameters, services, name, permitted))
            if rounds[-1].opened_ms is None:
                break
        if rounds[-1].opened_ms is not None:
            _await_route(session, services, parameters)
        services.stop()
        return Outcome(
            metrics=list(_metrics(rounds, parameters.rate_pps)),
            watched=[],
            series=_series(rounds),
            doubts=[*captures.checks(), *_held(rounds, parameters)],
        )


def _policies(services: Services) -> Mapping[str, Flow | None]:
    """The flow that each policy permits, by the policy's name; None: it permits nothing."""
    only: dict[str, Flow | None] = {
        f"only {protocol}": services.of(protocol)[0] for protocol in Protocol
    }
    return {**only, "nothing": None}


def _await_route(session: Session, services: Services, parameters: AclParameters) -> None:
    """A VPN whose policy hides members from each other looks for their path anew, while they send
    packets. The proof judges the route that is found."""
    flow, claimed = services.of(Protocol.UDP)[0], session.vpn.route(session.path)

    def found() -> bool:
        with suppress(VpnError):  # it has none yet
            passed = services.passes(flow, parameters.try_s)
            return passed and session.vpn.determine_route(session.path) == claimed
        return False

    with suppress(DeadlineExceeded):
        wait_until(
            found,
            what="the path had its route",
            deadline_s=parameters.settle_max_s,
            poll_s=SILENT_S / 10,
        )


@dataclass(frozen=True)
class _Tried:
    flow: Flow
    permitted: bool
    passed: bool


class _Round:
    """One policy, from an open path to an open path. ``held_ms`` and ``opened_ms`` count from the
    command; None: not in time."""

    def __init__(
        self,
        session: Session,
        parameters: AclParameters,
        services: Services,
        name: str,
        permitted: Flow | None,
    ) -> None:
        self.name = name
        self._session = session
        self._parameters = parameters
        self._services = services
        self.tried: Sequence[_Tried] = ()
        permits = () if permitted is None else (permitted.permit(session),)
        self.held_ms = self._hold(Policy(permits))
        if self.held_ms is not None:
            found = services.that_pass(parameters.try_s)
            self.tried = [_Tried(flow, flow == permitted, found[flow]) for flow in found]
        self.opened_ms = self._open()

    @property
    def _watched(self) -> Flow:
        """A flow that every policy forbids."""
        return self._services.of(Protocol.UDP)[1]

    def _hold(self, policy: Policy) -> float | None:
        session, rate_pps = self._session, self._parameters.rate_pps
        to = session.inner(session.target)
        lasting_s = LEAD_S + EVENT_S + self._parameters.settle_max_s + SLACK_S
        stream = UdpRun(session, UdpStream(to, (SMALLEST,), lasting_s, rate_pps)).start()
        time.sleep(LEAD_S)  # part of the method
        self.begun_ns = session.source.monotonic_ns()
        enforcing(session.vpn).apply_policy(policy)
        self.applied_ms = (session.source.monotonic_ns() - self.begun_ns) / 1e6
        held = self._silent()
        trial = stream.stop()
        first_ns, highest = trial.sent.first_ns, trial.sunk.max_sequence
        if not held or first_ns is None or highest is None:
            return None
        last_ns = first_ns + 1e9 * (highest + 1) / rate_pps
        return max(last_ns - self.begun_ns, 0.0) / 1e6

    def _silent(self) -> bool:
        def blocked() -> bool:
            return not any(self._services.passes(self._watched, SILENT_S) for _ in range(2))

        try:
            return wait_until(
                blocked,
                what="the policy held",
                deadline_s=self._parameters.settle_max_s,
                poll_s=SILENT_S / 10,
            )
        except DeadlineExceeded:
            return False

    def _open(self) -> float | None:
        session, settle_max_s = self._session, self._parameters.settle_max_s
        answer = session.a.begin(
            "first_answer",
            to=session.inner(session.target),
            port=self._watched.port,
            interval_us=ASK_EVERY_US,
            deadline_s=EVENT_S + settle_max_s,
            **session.marks,
        )
        answer.ready()
        begun_ns = session.source.monotonic_ns()
        enforcing(session.vpn).apply_policy(OPEN)
        try:
            found = parse(FirstAnswer, answer.result(EVENT_S + settle_max_s + SLACK_S))
        except ProbeError:
            return None
        return (found.answered_ns - begun_ns) / 1e6


def _metrics(rounds: Sequence[_Round], rate_pps: float) -> Iterator[Metric]:
    for name, times in (
        ("enforcement_delay_ms", [each.held_ms for each in rounds]),
        ("open_ms", [each.opened_ms for each in rounds]),
        ("apply_ms", [each.applied_ms for each in rounds]),
    ):
        if known := [each for each in times if each is not None]:
            yield Metric(name, "ms", statistics.median(known))
    yield Metric("resolution_ms", "ms", 1e3 / rate_pps)
    tried = [each for one in rounds for each in one.tried]
    for name, permitted in (("permitted_share", True), ("forbidden_share", False)):
        flows = [each for each in tried if each.permitted is permitted]
        yield from _share(name, flows, {})
        for protocol in Protocol:
            alike = [each for each in flows if each.flow.protocol is protocol]
            yield from _share(name, alike, {"protocol": protocol.value})


def _share(name: str, tried: Sequence[_Tried], labels: Mapping[str, str]) -> Iterator[Metric]:
    if tried:
        yield Metric(name, "1", sum(each.passed for each in tried) / len(tried), labels)


def _series(rounds: Sequence[_Round]) -> list[Series]:
    held = [(each.begun_ns, each.held_ms) for each in rounds if each.held_ms is not None]
    return [Series("enforcement_delay_ms", "ms", [at for at, _ in held], [ms for _, ms in held])]


def _held(rounds: Sequence[_Round], parameters: AclParameters) -> Iterator[Check]:
    settle = f"{parameters.settle_max_s:g} s"
    for each in rounds:
        yield _in_time(
            f"the policy holds ({each.name})",
            each.held_ms,
            "a forbidden flow was blocked",
            f"a forbidden flow was still answered after {settle}",
        )
        yield _in_time(
            f"the path is open again (after {each.name})",
            each.opened_ms,
            "the flow was answered",
            f"no flow was answered for {settle}",
        )


def _in_time(name: str, after_ms: float | None, what: str, otherwise: str) -> Check:
    return Check(
        name,
        after_ms is not None,
        otherwise if after_ms is None else f"{what} after {after_ms:.1f} ms",
        "see the log of the VPN's control server; or give it more time: raise settle_max",
    )
