"""The rules for a VPN driver, and the run that finds the rules that it breaks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum

from culvert.errors import CulvertError, NotPossible
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.topology.graph import Role, Topology
from culvert.topology.shapes import mesh, pair, serving
from culvert.vpns.base import Vpn
from culvert.vpns.contract.leaks import LeakWitness, witnessed
from culvert.vpns.contract.observe import PINGS, Agent, NodeState
from culvert.vpns.contract.outside import UnderlayLook, outside
from culvert.vpns.outer import OuterPacket
from culvert.vpns.registry import contract_faults
from culvert.vpns.variant import DataPath, Missing

SIZES = (64, 512, 1024)
"""Lengths of inner packets in bytes; the largest that fits is added."""
CYCLES = 5
_ICMP = 1
_TCP = 6
_CRASHES = 4
_SMALLEST_INNER = 28


class Rule(StrEnum):
    """What a driver must do."""

    CLASS = "the class and its instances have valid declarations"
    MISSING = "missing() names each missing part and its remedy"
    VERSION = "version() is not empty"
    LIFE = "prepare, serve, join, reach, leave and stop do not fail"
    UP = "inner pings are answered when reach() returns"
    INTERFACE = "the interface exists on both nodes and is up"
    DATA_PATH = "the data path is what the driver declares"
    OVERHEAD = "outer_length() is plausible"
    LENGTHS = "outer packets are in the outer flow and have the length of outer_length()"
    HANDSHAKE = "is_handshake() recognises exactly the handshake's packets"
    SECRET_FILES = "secrets are written with secret=True and have mode 0600"  # noqa: S105
    LEAKS = "no secret is on a command line, in a log, or in a file that others can read"
    COLD = "leave() ends the tunnel and reach() is a cold start again"
    CRASH = "crash() kills a node without a packet to its peers, and it comes back"
    DROP = "drop() ends the tunnel, and resume() (or a packet, on demand) brings it back"
    ROUTE = "the path's route is what the driver claims"
    CLEAN = "stop() leaves no object, and can be called at any time"


@dataclass(frozen=True)
class Violation:
    """A rule that the driver breaks, and how."""

    rule: Rule
    detail: str


def smallest_topology(vpn: Vpn) -> Topology:
    """The smallest topology on which a VPN's contract is checked: a mesh of two members and the
    servers that the variant needs, or a pair if it needs none."""
    return serving(mesh(2), vpn.needs) if vpn.needs else pair()


def check(make_vpn: Callable[[], Vpn], make_lab: Callable[[], Lab]) -> list[Violation]:
    """Run a driver through its life and return the rules that it breaks; empty if it breaks none.

    ``make_vpn`` returns a new instance at each call, ``make_lab`` a lab that is not open yet, with
    offloads off. A variant that encrypts must have a handshake, unless its facts say
    ``"key exchange": "none"`` (a static key).
    """
    found = _declared(make_vpn, make_lab().hosts)
    if any(violation.rule in (Rule.CLASS, Rule.MISSING) for violation in found):
        return found
    with ExitStack() as stack:
        lab = stack.enter_context(make_lab())
        agents = {node.name: stack.enter_context(Agent(node)) for node in lab.nodes.values()}
        before = {name: agent.state() for name, agent in agents.items()}
        run = _Run(make_vpn(), lab, agents)
        with witnessed(lab) as witness, outside(lab) as capture:
            run.live(witness, capture)
        run.stop_twice()
        run.look_for_remains(before)
        unused = _Run(make_vpn(), lab, agents)
        with unused.guarded(Rule.CLEAN):
            unused.vpn.prepare(lab)
            unused.vpn.stop(lab)
        return found + run.found + unused.found


def _declared(make_vpn: Callable[[], Vpn], hosts: Iterable[Host]) -> list[Violation]:
    """Violations that can be found without a lab."""
    vpn, another = make_vpn(), make_vpn()
    found = [Violation(Rule.CLASS, fault) for fault in contract_faults(type(vpn), vpn.name)]
    if vpn is another or vpn.processes is another.processes:
        found.append(Violation(Rule.CLASS, "two tunnels share their state"))
    if vpn.id != another.id or not vpn.id.startswith(vpn.name):
        found.append(Violation(Rule.CLASS, f"its id {vpn.id!r} does not start with its name"))
    for pattern in vpn.kernel_threads:
        try:
            re.compile(pattern)
        except re.error as error:
            found.append(Violation(Rule.CLASS, f"kernel_threads: {pattern!r}: {error}"))
    for host in hosts:
        for part in vpn.missing(host):
            clear = isinstance(part, Missing) and part.what.strip() and part.remedy.strip()
            detail = f"{part.what}: {part.remedy}" if clear else f"unclear: {part!r}"
            found.append(Violation(Rule.MISSING, detail))
        if not found and not vpn.version(host).strip():
            found.append(Violation(Rule.VERSION, "it is empty"))
    return found


class _Run:
    """One tunnel's life."""

    def __init__(self, vpn: Vpn, lab: Lab, agents: Mapping[str, Agent]) -> None:
        self.vpn = vpn
        self.lab = lab
        self.agents = agents
        self.nodes = (lab.a, lab.b)
        self.tunnel = vpn.outer_flow is not None
        static = vpn.variant.facts.get("key exchange") == "none"
        protects = vpn.variant.encrypts or vpn.variant.integrity_only
        self.expects_handshake = protects and not static
        self.found: list[Violation] = []

    def breaks(self, rule: Rule, detail: str) -> None:
        self.found.append(Violation(rule, detail))

    @contextmanager
    def guarded(self, rule: Rule) -> Iterator[None]:
        """An exception of the driver is a violation, not the end of the check."""
        try:
            yield
        except CulvertError as error:
            self.breaks(rule, f"{error} ({error.remedy})")
        except Exception as error:  # a driver may raise anything
            self.breaks(rule, f"raised {type(error).__name__} instead of a CulvertError: {error}")

    def live(self, witness: LeakWitness, capture: UnderlayLook) -> None:
        """From prepare() to the last cycle; ends early if nothing more can be checked."""
        with self.guarded(Rule.LIFE):
            self.vpn.prepare(self.lab)
            self.vpn.bring_up(but=self.lab.path)
            capture.packets()
            self.vpn.reach(self.lab.path)
            returned_ns = time.time_ns()
            if self.answered(self.lab.a, self.lab.b) and self.answered(self.lab.b, self.lab.a):
                self.look_at_handshake(capture.packets(), returned_ns, Rule.HANDSHAKE)
                self.look_at_interfaces()
                self.look_at_overhead()
                self.look_at_lengths(capture)
            self.look_for_secrets(witness)
            for _ in range(CYCLES - 1):
                if any(violation.rule in (Rule.UP, Rule.COLD) for violation in self.found):
                    return
                self.cycle(capture)
            self.look_at_events(capture)

    def answered(self, source: Node, target: Node, rule: Rule = Rule.UP) -> bool:
        """An inner ping from one node to the other."""
        address = self.vpn.inner(target).ip
        if self.agents[source.name].pings_answered(address):
            return True
        self.breaks(rule, f"{address} does not answer node {source.name}")
        return False

    def look_at_handshake(
        self, packets: Sequence[OuterPacket], returned_ns: int, rule: Rule
    ) -> None:
        """``returned_ns`` (CLOCK_REALTIME) is when reach() returned, which must be after a
        handshake packet in each direction. Acknowledgements may follow."""
        handshake = [packet for packet in self.flow(packets) if self.vpn.is_handshake(packet)]
        early = {packet.outgoing for packet in handshake if packet.timestamp_ns <= returned_ns}
        if self.expects_handshake and early != {True, False}:
            self.breaks(
                rule,
                f"{len(handshake)} of {len(self.flow(packets))} packets of the outer flow are "
                "recognised, but not one in each direction before reach() returned",
            )
        if not self.expects_handshake and handshake:
            self.breaks(
                rule, f"{len(handshake)} packets are recognised although there is no handshake"
            )

    def look_at_interfaces(self) -> None:
        for node in self.nodes:
            name = self.vpn.interface(node)
            link = node.link(name)
            if link is None or not link.up:
                self.breaks(
                    Rule.INTERFACE, f"{name} on node {node.name} is {'down' if link else 'missing'}"
                )
            with self.guarded(Rule.DATA_PATH):
                path = self.vpn.determine_data_path(node)
                if path is not self.vpn.data_path:
                    self.breaks(Rule.DATA_PATH, f"{path} on node {node.name}, not as declared")
        if self.vpn.variant.encrypts and self.vpn.data_path is DataPath.NONE:
            self.breaks(Rule.DATA_PATH, "it encrypts, but declares the data path none")

    def largest_inner(self) -> int:
        """The longest inner packet that no side of the tunnel fragments."""
        link = self.lab.a.link(self.vpn.interface(self.lab.a))
        largest = link.mtu if link else 0
        while (outer := self.vpn.outer_length(largest)) and outer > self.lab.spec.link.mtu:
            largest -= 1
        return largest

    def look_at_overhead(self) -> None:
        least = 1 if self.vpn.variant.encrypts else 0
        previous = 0
        for inner in range(_SMALLEST_INNER, self.largest_inner() + 1):
            outer = self.vpn.outer_length(inner)
            if outer is None:
                if previous:
                    self.breaks(Rule.OVERHEAD, f"unknown for {inner} bytes, known for fewer")
                return
            if outer < max(previous, inner + least):
                self.breaks(
                    Rule.OVERHEAD, f"{outer} for {inner} bytes, {previous} for one byte less"
                )
                return
            previous = outer

    def look_at_lengths(self, capture: UnderlayLook) -> None:
        target = self.vpn.inner(self.lab.b).ip
        for inner in (*SIZES, self.largest_inner()):
            capture.packets()
            answered = self.agents[self.lab.a.name].pings_answered(
                target, length=inner, count=PINGS
            )
            if answered < PINGS:
                self.breaks(Rule.LENGTHS, f"{answered} of {PINGS} pings of {inner} bytes come back")
                continue
            sent = [packet for packet in self.flow(capture.packets()) if packet.outgoing]
            carriers = [packet.length for packet in sent if not self.vpn.is_handshake(packet)]
            expected = self.vpn.outer_length(inner)
            if expected is None:
                carried = sum(carriers) >= inner * PINGS
            else:
                carried = carriers.count(expected) >= PINGS
            if not carried:
                self.breaks(
                    Rule.LENGTHS,
                    f"an inner packet of {inner} bytes should be {expected or 'some'} outside; "
                    f"{PINGS} pings went out as {carriers or 'nothing in the outer flow'}",
                )

    def look_for_secrets(self, witness: LeakWitness) -> None:
        if self.vpn.variant.encrypts and not witness.tokens():
            self.breaks(Rule.SECRET_FILES, "it encrypts, but no file is written with secret=True")
        for exposed in witness.exposed_files(self.nodes):
            self.breaks(Rule.SECRET_FILES, exposed)
        for leak in witness.leaks(self.nodes):
            self.breaks(Rule.LEAKS, leak)

    def cycle(self, capture: UnderlayLook) -> None:
        """Leave, check that it is down, reach, check that it is up after a new handshake."""
        target = self.vpn.inner(self.lab.b).ip
        self.vpn.leave(self.lab.a)
        if self.tunnel and self.agents[self.lab.a.name].pings_answered(target):
            self.breaks(Rule.COLD, f"{target} still answers after leave()")
        capture.packets()
        self.vpn.reach(self.lab.path)
        returned_ns = time.time_ns()
        if self.answered(self.lab.a, self.lab.b):
            self.look_at_handshake(capture.packets(), returned_ns, Rule.COLD)

    def look_at_events(self, capture: UnderlayLook) -> None:
        """An event that a driver leaves out (NotPossible) is not checked."""
        path = self.lab.path
        with self.guarded(Rule.ROUTE):
            found = self.vpn.determine_route(path)
            if found != self.vpn.route(path):
                self.breaks(Rule.ROUTE, f"{found}, not {self.vpn.route(path)}")
        with self.guarded(Rule.DROP), suppress(NotPossible):
            self.drop(capture)
        for node in (self.lab.a, self.lab.b):
            with self.guarded(Rule.CRASH), suppress(NotPossible):
                self.crash(node, capture)

    def drop(self, capture: UnderlayLook) -> None:
        """A ping finds no tunnel, or makes one with a new handshake where packets do that."""
        path, target = self.lab.path, self.vpn.inner(self.lab.b).ip
        capture.packets()
        self.vpn.drop(path)
        if self.vpn.on_demand:
            self.answered(self.lab.a, self.lab.b, Rule.DROP)
            self.look_at_handshake(capture.packets(), time.time_ns(), Rule.DROP)
            return
        if self.tunnel and self.agents[self.lab.a.name].pings_answered(target):
            self.breaks(Rule.DROP, f"{target} still answers after drop()")
        self.vpn.resume(path)
        self.answered(self.lab.a, self.lab.b, Rule.DROP)

    def crash(self, node: Node, capture: UnderlayLook) -> None:
        """No packet may leave the node after it is killed; then it is started anew.

        A packet may have left just before, by chance; a VPN that announces its end does so each
        time.
        """
        counts: list[int] = []
        while len(counts) < _CRASHES and 0 not in counts:
            counts.append(self._sent_in_crash(node, capture))
            self.vpn.leave(self.lab.a)
            self.vpn.join(node)
            self.vpn.reach(self.lab.path)
            self.answered(self.lab.a, self.lab.b, Rule.CRASH)
        if 0 not in counts:
            self.breaks(
                Rule.CRASH, f"node {node.name} sent {min(counts)} packets after it was killed"
            )

    def _sent_in_crash(self, node: Node, capture: UnderlayLook) -> int:
        """Packets of the VPN that the node has sent from just before it is killed."""
        capture.packets()
        self.vpn.crash(node)
        outgoing = node.name == self.lab.a.name
        relayed = not outgoing and bool(self.lab.of_role(Role.RELAY))
        sent = [
            each
            for each in self.flow(capture.packets())
            # The kernel closes the TCP connections of killed processes. A relay reports over TCP
            # that a node is gone.
            if each.outgoing is outgoing
            and (each.protocol != _TCP or (each.payload and not relayed))
        ]
        return len(sent)

    def stop_twice(self) -> None:
        for _ in range(2):
            with self.guarded(Rule.CLEAN):
                self.vpn.stop(self.lab)

    def look_for_remains(self, before: dict[str, NodeState]) -> None:
        for name, agent in self.agents.items():
            for remains in agent.state().left_since(before[name]):
                self.breaks(Rule.CLEAN, f"node {name}: {remains}")

    def flow(self, packets: Sequence[OuterPacket]) -> list[OuterPacket]:
        """The tunnel's packets; without a tunnel, the pings themselves."""
        flow = self.vpn.outer_flow
        if flow is None:
            return [packet for packet in packets if packet.protocol == _ICMP]
        return [packet for packet in packets if flow.has(packet)]
