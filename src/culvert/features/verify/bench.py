"""A test of a feature, and what it works with: fresh labs for one VPN, and measurements on them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from culvert.errors import CulvertError
from culvert.features.criteria import Criterion
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.acl.acl import Acl
from culvert.measurements.base import Measurement
from culvert.measurements.tunnel.reachability import Reachability
from culvert.measurements.tunnel.stream import begin_requests
from culvert.proof.canary import echo_marked
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.paths import open_session, require_room
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.graph import Path
from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.nat import Access
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.trial.echo import Echo
from culvert.trial.session import Session
from culvert.vpns.base import Vpn
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.variant import DIRECT, Route

MakeVpn = Callable[[], Vpn]
SHORT = {"give_up": "15s", "settle": "10s", "duration": "1s"}
"""Of reachability: long enough for every VPN that is driven."""
RATE_BPS = 100_000_000
"""Of the links that reachability fills: relays on a small machine carry it."""
ATTEMPTS = 3
"""Trials until one is not invalid: a busy machine or a path that changes decides nothing."""
_ROUNDS = 5
_TRAFFIC_PPS = 10


@dataclass(frozen=True)
class Reached:
    """A trial of ``reachability``, and the route that the variant claims for its path."""

    finding: TrialFinding
    claimed: Route


@dataclass
class Bench:
    """``make`` gives a new instance of one VPN for each lab."""

    make: MakeVpn
    _reached: dict[tuple[Access, Access], Reached] = field(default_factory=dict)

    @contextmanager
    def up(
        self,
        members: int = 2,
        paths: tuple[Path, ...] = (Path("a", "b"),),
        *,
        underlay: IpVersion = IpVersion.V4,
        ipv6_inside: bool = False,
    ) -> Iterator[Vpn]:
        """The VPN on an open mesh, all paths up."""
        vpn = self.make()
        topology = serving(mesh(members, paths=paths), vpn.needs)
        require_room(vpn, topology)
        spec = LabSpec(topology=topology, underlay=underlay, ipv6_inside=ipv6_inside)
        lab = NetnsLab(new_run_id(), spec)
        with ExitStack() as stack:
            stack.enter_context(lab)
            stack.callback(vpn.stop, lab)
            vpn.prepare(lab)
            bring_up(vpn)
            yield vpn

    @contextmanager
    def session(self, underlay: IpVersion = IpVersion.V4) -> Iterator[Session]:
        """Bring the VPN up for two members, with a probe on each node."""
        with self.up(underlay=underlay) as vpn, ExitStack() as stack:
            yield open_session(stack, vpn.lab, vpn, vpn.lab.path)

    def reached(self, left: Access, right: Access) -> Reached:
        """``reachability`` from a member behind ``left`` to one behind ``right``; once for each
        pair."""
        if (left, right) not in self._reached:
            ends = {"a": left, "b": right}
            topology = mesh(
                2,
                nats={name: kind.nats for name, kind in ends.items() if kind.nats},
                block_udp=[name for name, kind in ends.items() if kind.blocks_udp],
            )
            spec = LabSpec(topology=topology, link=LinkSpec(rate_bps=RATE_BPS))
            vpn, finding = self._executed(Reachability(), SHORT, spec)
            figures(finding)  # without figures there may be no lab, from which the claim follows
            self._reached[left, right] = Reached(finding, vpn.route(spec.topology.paths[0]))
        return self._reached[left, right]

    @cached_property
    def policies(self) -> TrialFinding:
        """``acl`` between two members without NATs."""
        _, finding = self._executed(Acl(), {}, LabSpec(topology=mesh(2)))
        return finding

    def _executed(
        self, measurement: Measurement[Any], parameters: dict[str, Any], spec: LabSpec
    ) -> tuple[Vpn, TrialFinding]:
        """A trial, proved as in a run; one that is invalid decides nothing, and is repeated."""
        parsed = measurement.Parameters.model_validate(parameters)
        for _ in range(ATTEMPTS):
            vpn = self.make()
            finding = Execution(vpn, spec, measurement, parsed, Tunnels(_namespaces)).execute()
            if finding.status is not Status.INVALID:
                break
        return vpn, finding


def _namespaces(spec: LabSpec) -> Lab:
    return NetnsLab(new_run_id(), spec)


def carries(session: Session) -> bool:
    """Whether marked packets cross the tunnel and come back."""
    return any(echo_marked(session, at_most=8, patient=True).received for _ in range(_ROUNDS))


def crossing(crossed: bool) -> str:
    """The result of ``carries`` in words."""
    return f"packets {'' if crossed else 'do not '}cross"


@contextmanager
def traffic(session: Session, lasting_s: float) -> Iterator[None]:
    """A few requests per second from the source to the target while the body runs."""
    with Echo(session, lasting_s) as echo:
        stream = begin_requests(echo, rate_pps=_TRAFFIC_PPS, lasting_s=lasting_s)
        yield
        stream.stop()


class Undecided(CulvertError):
    """A test that cannot decide its criterion with this VPN."""

    def __init__(self, why: str) -> None:
        super().__init__("the test", why, "see the VPN's documents")


def require_direct(claimed: Route) -> None:
    """Raises Undecided for a variant that keeps its paths relayed: another one may decide."""
    if claimed != DIRECT:
        raise Undecided(f"this variant keeps its paths {claimed}")


def figures(finding: TrialFinding) -> dict[str, float]:
    """The figures without labels of a trial that counts; raises Undecided with its reason."""
    if finding.status is not Status.OK:
        raise Undecided(f"{finding.status}: {finding.reason}")
    return {metric.name: metric.value for metric in finding.outcome.metrics if not metric.labels}


@dataclass(frozen=True)
class Finding:
    """Whether the criterion holds; None: the test could not decide it. ``detail`` says why."""

    holds: bool | None
    detail: str


class FeatureTest(ABC):
    """One test: its name in records, and its criterion. The docstring of a class says what it does,
    also in the documentation."""

    name: ClassVar[str]
    criterion: ClassVar[Criterion]

    @abstractmethod
    def run(self, bench: Bench) -> Finding:
        """Decide it. A CulvertError means that it could not be decided."""
