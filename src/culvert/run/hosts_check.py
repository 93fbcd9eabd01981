"""Hosts of an inventory and the links between them: ready, or why not."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from culvert.counter import Counter
from culvert.errors import CulvertError, NotPossible
from culvert.labs.hosts.facts.survey import Survey
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.lab import HostsLab, wrong_clock
from culvert.labs.hosts.links.network import measured_end
from culvert.labs.hosts.links.rounds import Pair, pairs_of, rounds, used_by
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.labs.hosts.remote.features import TRIED
from culvert.labs.together import at_once
from culvert.measurements.underlay.real import RealLink
from culvert.run.trials.paths import open_session
from culvert.study.vpn_id import BASELINE
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.variant import in_words

STREAM_S = 0.3
_PROGRAMS = {"ip": "apt-get install iproute2", "ping": "apt-get install iputils-ping"}
"""Programs that every VPN's driver uses on a node."""
ALSO = {"ethtool": "apt-get install ethtool", "tc": "apt-get install iproute2"}
"""Programs without which some facts are unknown."""

_REMAINS = "check it again: what remains on the host is removed first"


@dataclass(frozen=True)
class Problem:
    """Something that is missing, and the remedy."""

    what: str
    why: str
    remedy: str

    @classmethod
    def of(cls, error: CulvertError) -> Problem:
        return cls(error.what, error.why, error.remedy)


@dataclass
class HostFound:
    """A host; empty but for its problems if it cannot be reached."""

    name: str
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    """What is missing for some VPNs only."""
    architecture: str = ""
    kernel: str = ""
    privileges: str = ""
    address: str = ""
    device: str = ""
    clock_ahead_ms: float | None = None
    clock_uncertainty_ms: float | None = None
    features: list[str] = field(default_factory=list)
    vpns: list[str] = field(default_factory=list)
    ports_in_use: list[int] = field(default_factory=list)


@dataclass
class PairFound:
    """The link between two hosts; the problem if it was not measured."""

    source: str
    target: str
    problem: Problem | None = None
    mtu_bytes: int | None = None
    rtt_min_ms: float | None = None
    rtt_ms: float | None = None
    there_bps: float | None = None
    back_bps: float | None = None
    there_loss: float | None = None
    back_loss: float | None = None


def hosts_found(fleet: Fleet, *, stay: bool) -> list[HostFound]:
    """Hosts to which nothing more is asked do not ``stay`` connected: there may be thousands."""
    hosts = [fleet.host(entry) for entry in fleet.inventory.hosts]

    def look_at(host: SshHost) -> HostFound:
        try:
            found = _look_at(host)
            remains = [] if stay else host.close()
            found.problems += [Problem(f"host {host.name}", line, _REMAINS) for line in remains]
            return found
        finally:
            if not stay:
                host.close()
            counter.one_more()

    with Counter("hosts looked at", len(hosts)) as counter:
        outcomes = fleet.each(hosts, look_at)
    return [
        HostFound(host.name, [Problem.of(outcome)])
        if isinstance(outcome, CulvertError)
        else outcome
        for host, outcome in zip(hosts, outcomes, strict=True)
    ]


def _look_at(host: SshHost) -> HostFound:
    host.open()
    contact = host.contact
    found = HostFound(
        host.name,
        architecture=contact.machine,
        kernel=contact.release,
        privileges=contact.escalation,
    )
    clock = host.clock_offset()
    found.clock_ahead_ms, found.clock_uncertainty_ms = (
        clock.ahead_ns / 1e6,
        clock.uncertainty_ns / 1e6,
    )
    if (wrong := wrong_clock(host)) is not None:
        found.problems.append(Problem.of(wrong))
    for programs, into in ((_PROGRAMS, found.problems), (ALSO, found.notes)):
        into += [
            Problem(program, f"is not installed on {host.name}", remedy)
            for program, remedy in programs.items()
            if host.find(program) is None
        ]
    if host.find("ip") is not None:
        try:
            survey = Survey.of(host)
            ports = frozenset[int]().union(*survey.ports.values())
            found.ports_in_use = sorted(ports)
            end = measured_end(host, survey)
            found.address, found.device = str(end.address), end.device
        except CulvertError as error:
            found.problems.append(Problem.of(error))
    found.features = [feature for feature in TRIED if host.has(feature)]
    _look_for_vpns(host, found)
    return found


def _look_for_vpns(host: SshHost, found: HostFound) -> None:
    for vpn_id in registry.all_variants():
        if vpn_id.name == BASELINE:
            continue
        missing = [one.on(host) for one in registry.create(vpn_id).missing(host)]
        if not missing:
            found.vpns.append(str(vpn_id))
            continue
        what, remedy = in_words(missing)
        why = f"is not ready on {host.name}: {what}"
        found.notes.append(Problem(str(vpn_id), why, remedy))


def links_found(fleet: Fleet, reached: set[str]) -> list[PairFound]:
    """Every link between two of the hosts with these names."""
    inventory: Inventory = fleet.inventory
    hosts = tuple(host for host in inventory.hosts if host.name in reached)
    all_pairs = pairs_of(hosts)
    found: list[PairFound] = []
    with Counter("links measured", len(all_pairs)) as counter:

        def link(pair: Pair) -> PairFound:
            try:
                return _link(fleet, pair)
            finally:
                counter.one_more()

        for together in rounds(all_pairs, used_by):
            found += at_once(link, together)
    return found


def _link(fleet: Fleet, pair: Pair) -> PairFound:
    source, target = pair
    found = PairFound(source.name, target.name)
    try:
        with ExitStack() as stack:
            assigned = {"a": source, "b": target}
            lab = stack.enter_context(HostsLab(fleet, LabSpec(), assigned=assigned))
            vpn = registry.create(registry.parse(BASELINE))
            vpn.prepare(lab)
            link = RealLink(open_session(stack, lab, vpn, lab.path))
            link.measure(STREAM_S)
    except CulvertError as error:
        found.problem = Problem.of(error)
        return found
    seen = link.found
    if seen.mtu is None or seen.rtt_p50_ns is None or seen.rtt_min_ns is None:
        found.problem = Problem.of(
            NotPossible(
                f"the link {source.name} to {target.name}",
                "no packet of the probe came back",
                "let the hosts' firewalls pass UDP and ESP between them, all ports",
            )
        )
        return found
    found.mtu_bytes = seen.mtu
    found.rtt_min_ms, found.rtt_ms = seen.rtt_min_ns / 1e6, seen.rtt_p50_ns / 1e6
    found.there_bps, found.back_bps = seen.there.rate_bps, seen.back.rate_bps
    found.there_loss, found.back_loss = seen.there.loss, seen.back.loss
    return found
