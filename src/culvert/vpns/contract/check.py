"""The run that finds the rules that a VPN driver breaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.probe.client import Probe
from culvert.runid import new_run_id
from culvert.topology.graph import Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, pair, serving
from culvert.topology.spec import LabSpec
from culvert.vpns.base import Vpn
from culvert.vpns.contract.findings import Findings
from culvert.vpns.contract.leaks import witnessed
from culvert.vpns.contract.life import Life
from culvert.vpns.contract.observe import UnderlayLook, node_state
from culvert.vpns.contract.rules import Report, Rule, Violation
from culvert.vpns.contract.story import Story
from culvert.vpns.registry import contract_faults
from culvert.vpns.variant import Missing


def smallest_topology(vpn: Vpn) -> Topology:
    """The smallest topology on which a VPN's contract is checked: a mesh of two members and the
    servers that the variant needs, or a pair if it needs none."""
    return serving(mesh(2), vpn.needs) if vpn.needs else pair()


def smallest_lab(vpn: Vpn, link: str = "veth") -> Lab:
    """The smallest lab of namespaces for a VPN's contract, not open yet; ``link`` is veth or
    wire."""
    # Drivers import this module: the lab only when it is made.
    from culvert.labs.netns.lab import NetnsLab  # noqa: PLC0415

    spec = LinkSpec(kind="wire" if link == "wire" else "veth")
    return NetnsLab(new_run_id(), LabSpec(smallest_topology(vpn), spec))


def check_here(make_vpn: Callable[[], Vpn], link: str = "veth") -> Sequence[Violation]:
    """``check`` on the smallest lab of namespaces: for the test of a driver. ``make_vpn`` returns a
    new instance at each call; ``link`` is veth, or wire (the emulated link)."""
    return check(make_vpn, lambda: smallest_lab(make_vpn(), link))


def check(make_vpn: Callable[[], Vpn], make_lab: Callable[[], Lab]) -> Sequence[Violation]:
    """Run a driver through its life and return the rules that it breaks; empty if it breaks none.

    ``make_vpn`` returns a new instance at each call, ``make_lab`` a lab that is not open yet, with
    offloads off. A variant that encrypts must have a handshake, unless its facts say
    ``"key exchange": "none"`` (a static key).
    """
    return examine(make_vpn, make_lab).violations


def examine(
    make_vpn: Callable[[], Vpn],
    make_lab: Callable[[], Lab],
    *,
    tell: Callable[[str], None] | None = None,
    keep: Path | None = None,
) -> Report:
    """``check`` with what is known of each rule. ``tell`` gets a line for each step, command and
    log line; the nodes' files without secrets are copied to ``keep``."""
    story = Story(tell)
    vpn = make_vpn()
    findings = Findings(type(vpn), story)
    _look_at_declarations(findings, vpn, make_vpn(), make_lab().hosts)
    if findings.broken(Rule.CLASS, Rule.MISSING):
        return findings.report()
    with ExitStack() as stack:
        lab = stack.enter_context(make_lab())
        story.follow(lab.nodes.values())
        probes = {node.name: stack.enter_context(Probe(node)) for node in (lab.a, lab.b)}
        before = {node: node_state(node) for node in lab.nodes.values()}
        life = Life(make_vpn(), lab, probes, findings)
        with witnessed(lab, story) as witness:
            try:
                life.live(witness, UnderlayLook(lab.a, probes[lab.a.name]))
                life.stop_twice()
                life.look_for_remains(before)
            finally:
                if keep is not None:
                    witness.keep(lab.nodes.values(), keep)
        unused = Life(make_vpn(), lab, probes, findings)
        with story.part("an instance that is not brought up"), unused.guarded(Rule.CLEAN):
            unused.vpn.prepare(lab)
            unused.vpn.stop(lab)
    return findings.report()


def _look_at_declarations(
    findings: Findings, vpn: Vpn, another: Vpn, hosts: Iterable[Host]
) -> None:
    """What can be checked without a lab."""
    with findings.guarded(Rule.CLASS):
        findings.story.look("the class")
        for fault in _faults(vpn, another):
            findings.breaks(Rule.CLASS, fault)
    for host in hosts:
        with findings.guarded(Rule.MISSING):
            findings.story.look("missing()", "missing")
            for part in vpn.missing(host):
                clear = isinstance(part, Missing) and part.what.strip() and part.remedy.strip()
                detail = f"{part.what}: {part.remedy}" if clear else f"unclear: {part!r}"
                findings.breaks(Rule.MISSING, detail)
        if findings.broken(Rule.CLASS, Rule.MISSING):
            continue
        with findings.guarded(Rule.VERSION):
            findings.story.look("version()", "version")
            if not vpn.version(host).strip():
                findings.breaks(Rule.VERSION, "it is empty")


def _faults(vpn: Vpn, another: Vpn) -> Iterable[str]:
    yield from contract_faults(type(vpn), vpn.name)
    if vpn is another or vpn.processes is another.processes:
        yield "two tunnels share their state"
    if vpn.id != another.id or not vpn.id.startswith(vpn.name):
        yield f"its id {vpn.id!r} does not start with its name"
    for pattern in vpn.kernel_threads:
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"kernel_threads: {pattern!r}: {error}"
