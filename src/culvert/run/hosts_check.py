"""``culvert hosts check``: hosts of an inventory, ready or why not."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.table import Table

from culvert.console import out, print_json
from culvert.counter import Counter
from culvert.errors import CulvertError, NotPossible
from culvert.labs.hosts.clock import offset_of
from culvert.labs.hosts.features import TRIED, to_load
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.inventory import Inventory, read_inventory
from culvert.labs.hosts.lab import HostsLab, wrong_clock
from culvert.labs.hosts.network import measured_end
from culvert.labs.hosts.rounds import Pair, pairs_of, rounds, used_by
from culvert.labs.hosts.survey import Survey
from culvert.labs.together import at_once
from culvert.measurements.underlay.real import RealLink
from culvert.run.trials.paths import open_session
from culvert.runid import new_run_id
from culvert.study.names import BASELINE
from culvert.topology.spec import LabSpec
from culvert.vpns import registry

STREAM_S = 0.3
_PROGRAMS = {"ip": "apt-get install iproute2", "ping": "apt-get install iputils-ping"}
"""Programs that every VPN's driver uses on a node."""
_ALSO = {"ethtool": "apt-get install ethtool", "tc": "apt-get install iproute2"}
"""Programs without which some facts are unknown."""


@dataclass(frozen=True)
class Problem:
    """Something that is missing, and the remedy."""

    what: str
    why: str
    remedy: str

    @classmethod
    def of(cls, error: CulvertError) -> Problem:
        """The same as an error."""
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


def check_hosts(path: Path, *, sudo_password: str | None, links: bool, as_json: bool) -> bool:
    """Print what was found; True if nothing that every study needs is missing."""
    inventory = read_inventory(path, sudo_password=sudo_password)
    with Fleet(inventory, new_run_id()) as fleet:
        hosts = _hosts(fleet, stay=links)
        reached = {host.name for host in hosts if host.architecture}
        pairs = _pairs(fleet, reached) if links else []
    if as_json:
        print_json(
            {
                "hosts": [asdict(host) for host in hosts],
                "links": [asdict(pair) for pair in pairs],
            }
        )
    else:
        _show(hosts, pairs, path)
    return not any(host.problems for host in hosts) and not any(pair.problem for pair in pairs)


def _hosts(fleet: Fleet, *, stay: bool) -> list[HostFound]:
    """Hosts to which nothing more is asked do not ``stay`` connected: there may be thousands."""
    hosts = [fleet.host(entry) for entry in fleet.inventory.hosts]

    def look_at(host: SshHost) -> HostFound:
        try:
            return _look_at(host)
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
        host.name, architecture=contact.machine, kernel=contact.release, privileges=contact.rise
    )
    clock = offset_of(host)
    found.clock_ahead_ms, found.clock_uncertainty_ms = (
        clock.ahead_ns / 1e6,
        clock.uncertainty_ns / 1e6,
    )
    if (wrong := wrong_clock(host)) is not None:
        found.problems.append(Problem.of(wrong))
    for programs, into in ((_PROGRAMS, found.problems), (_ALSO, found.notes)):
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
        why = f"on {host.name}: " + ", ".join(dict.fromkeys(one.what for one in missing))
        remedy = "; ".join(dict.fromkeys(one.remedy for one in missing))
        found.notes.append(Problem(str(vpn_id), f"is not ready {why}", remedy))


def _pairs(fleet: Fleet, reached: set[str]) -> list[PairFound]:
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
            link = RealLink(open_session(stack, lab, vpn, lab.path, {}))
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


def _show(hosts: Sequence[HostFound], pairs: Sequence[PairFound], inventory: Path) -> None:
    table = Table(box=None, pad_edge=False)
    for column in (
        "host",
        "ready",
        "architecture",
        "kernel",
        "root by",
        "address",
        "clock",
        "VPNs",
    ):
        table.add_column(column)
    for host in hosts:
        table.add_row(
            host.name,
            "[yellow]no[/]" if host.problems else "[green]yes[/]",
            host.architecture,
            host.kernel,
            host.privileges,
            f"{host.address} {host.device}",
            _clock(host),
            str(len(host.vpns)) if host.architecture else "",
        )
    out.print(table)
    out.print()
    for text in _details(hosts):
        out.print(text, markup=False, style="dim")
    for host in hosts:
        for problem in host.problems:
            _explain(problem)
    if pairs:
        out.print()
        out.print(_links(pairs))
    for pair in pairs:
        if pair.problem is not None:
            _explain(pair.problem)
    out.print()
    _show_notes(hosts, inventory)
    _show_next(hosts, pairs, inventory)


def _show_notes(hosts: Sequence[HostFound], inventory: Path) -> None:
    """What only some VPNs or facts need: what single VPNs lack is long, so it is in --json."""
    notes = [note for host in hosts for note in host.notes]
    vpns = sorted({note.what for note in notes if note.what not in _ALSO})
    if vpns:
        count = "1 VPN is" if len(vpns) == 1 else f"{len(vpns)} VPNs are"
        out.print(f"{count} not ready on one host or more:", style="dim")
        out.print(f"  {', '.join(vpns)}", markup=False, style="dim")
        _remedy(
            f"culvert hosts install VPN --inventory {inventory}, if it is a program that is "
            "missing; culvert hosts check --json has what each lacks on which host"
        )
    for note in notes:
        if note.what in _ALSO:
            _explain(note)


def _show_next(hosts: Sequence[HostFound], pairs: Sequence[PairFound], inventory: Path) -> None:
    """How many can be measured, and how."""
    ready = sum(not host.problems for host in hosts)
    out.print(f"{ready} of {len(hosts)} hosts are ready", end="")
    if ready == len(hosts) and not any(pair.problem for pair in pairs):
        command = f"culvert run quick --lab hosts --inventory {inventory}"
        out.print(f"; next: {command}", markup=False, soft_wrap=True)
    else:
        out.print("; what is missing is above, with its remedy")


def _details(hosts: Sequence[HostFound]) -> list[str]:
    """Features, ports and VPNs, once for all hosts that have the same."""
    alike: dict[str, list[str]] = {}
    for host in hosts:
        if not host.architecture:
            continue
        lacking = [feature for feature in TRIED if feature not in host.features]
        for what, words in (
            ("kernel features", host.features),
            ("kernel features missing", lacking),
            ("ports in use (VPNs get others)", host.ports_in_use),
            ("VPNs installed", host.vpns),
        ):
            text = f"{what}: {', '.join(map(str, words)) or 'none'}"
            if words and words is lacking:
                text += f" (if a VPN or a condition needs one: {to_load(lacking)})"
            alike.setdefault(text, []).append(host.name)
    return [f"{', '.join(names)}: {text}" for text, names in alike.items()]


def _clock(host: HostFound) -> str:
    if host.clock_ahead_ms is None or host.clock_uncertainty_ms is None:
        return ""
    ahead_ms = round(host.clock_ahead_ms, 1) + 0.0  # without a negative zero
    return f"{ahead_ms:+.1f} ± {host.clock_uncertainty_ms:.1f} ms"


def _links(pairs: Sequence[PairFound]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("link", "MTU", "round trip", "rate there", "rate back", "loss"):
        table.add_column(column)
    for pair in pairs:
        if pair.problem is not None:
            continue
        losses = max(pair.there_loss or 0.0, pair.back_loss or 0.0)
        table.add_row(
            f"{pair.source} to {pair.target}",
            str(pair.mtu_bytes),
            f"{pair.rtt_ms:.3f} ms",
            _rate(pair.there_bps),
            _rate(pair.back_bps),
            f"{losses:.2%}",
        )
    return table


def _rate(bps: float | None) -> str:
    return "unknown" if bps is None else f"{bps / 1e6:.0f} Mbit/s"


def _explain(problem: Problem) -> None:
    out.print(f"{problem.what}: {problem.why}", markup=False, style="yellow")
    _remedy(problem.remedy)


def _remedy(text: str) -> None:
    out.print(f"  remedy: {text}", markup=False, soft_wrap=True)
