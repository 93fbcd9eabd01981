"""A driver's life on a lab, and the rules that it breaks on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from culvert.errors import NotPossible
from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.probe.client import Probe
from culvert.topology.graph import Role
from culvert.vpns.abilities import dropping, resuming
from culvert.vpns.base import Vpn
from culvert.vpns.contract.findings import Findings
from culvert.vpns.contract.leaks import LeakWitness
from culvert.vpns.contract.observe import (
    PINGS,
    NodeState,
    UnderlayLook,
    node_state,
    pings_of,
    silent,
    smallest_ping,
)
from culvert.vpns.contract.rules import Rule
from culvert.vpns.lifecycle import bring_up
from culvert.vpns.outer import OuterPacket, largest_inner
from culvert.vpns.variant import Carried, DataPath

SIZES = (64, 512, 1024)
"""Lengths of inner packets in bytes; the largest that fits is added."""
CYCLES = 5
_ICMP = 1
_TCP = 6
_CRASHES = 4
_SMALLEST_INNER = 28

_COMPRESSED = ": fewer bytes than they carry; if the VPN compresses, switch that off"


class Life:
    """One tunnel's life."""

    def __init__(self, vpn: Vpn, lab: Lab, probes: Mapping[str, Probe], findings: Findings) -> None:
        self.vpn = vpn
        self.lab = lab
        self.probes = probes
        self.nodes = (lab.a, lab.b)
        self.findings = findings
        self.story = findings.story
        self.breaks = findings.breaks
        self.guarded = findings.guarded
        self.story.watch(vpn)
        static = vpn.variant.facts.get("key exchange") == "none"
        protects = vpn.variant.encrypts or vpn.variant.integrity_only
        self._expects_handshake = protects and not static

    def live(self, witness: LeakWitness, capture: UnderlayLook) -> None:
        """From prepare() to the last cycle; ends early if nothing more can be checked."""
        with self.guarded(Rule.LIFE):
            with self.story.part("bring-up"):
                self.vpn.prepare(self.lab)
                bring_up(self.vpn, but=self.lab.path)
                capture.packets()
                self.vpn.reach(self.lab.path)
                returned_ns = time.time_ns()
                if self._answered(capture) and self._answered(capture, back=True):
                    self.findings.looked_at.add(Rule.UP)
                    self._look_at_handshake(capture.packets(), returned_ns, Rule.HANDSHAKE)
                    self._look_at_interfaces()
                    self._look_at_overhead()
                    self._look_at_lengths(capture)
                self._look_for_secrets(witness)
            for cycle in range(2, CYCLES + 1):
                if self.findings.broken(Rule.UP, Rule.COLD):
                    break
                with self.story.part(f"bring-up {cycle} of {CYCLES}"):
                    self._cycle(capture)
            else:
                self.findings.looked_at.add(Rule.COLD)
                self._look_at_events(capture)
                return
        self.findings.looked_at.discard(Rule.LIFE)

    def _answered(self, capture: UnderlayLook, rule: Rule = Rule.UP, *, back: bool = False) -> bool:
        """An inner ping from one node to the other; of a lost one a second tells more."""
        source, target = reversed(self.nodes) if back else self.nodes
        if self._pings(source, target):
            return True
        capture.packets()
        again = self._pings(source, target)
        packets = self._flow(capture.packets())
        away = sum(packet.outgoing is (source is self.lab.a) for packet in packets)
        self.breaks(
            rule,
            f"{self.vpn.traffic_address(target)} does not answer node {source.name}; a second ping "
            "was "
            f"{'answered' if again else 'not answered either'}; packets of the outer flow "
            f"meanwhile: {away} from {source.name}, {len(packets) - away} to it",
        )
        return False

    def _pings(self, source: Node, target: Node, **more: int) -> int:
        """Those that were answered; echoes over UDP where no ping crosses."""
        return pings_of(
            self.probes[source.name],
            self.vpn.traffic_address(target),
            reflector=self._reflector(target),
            **more,
        )

    def _reflector(self, target: Node) -> Probe | None:
        return None if self.vpn.carries is Carried.PACKETS else self.probes[target.name]

    def _is_down(self) -> bool:
        """Whether node b does not answer node a; always of what has no tunnel."""
        a, b = self.nodes
        address, reflector = self.vpn.traffic_address(b), self._reflector(b)
        if self.vpn.outer_flow is None:
            return True
        return silent(self.probes[a.name], address, reflector=reflector)

    def _look_at_handshake(
        self, packets: Sequence[OuterPacket], returned_ns: int, rule: Rule
    ) -> None:
        """``returned_ns`` (CLOCK_REALTIME) is when reach() returned, which must be after a
        handshake packet in each direction. Acknowledgements may follow."""
        self.story.look("the packets of the handshake", "is_handshake", "outer_flow")
        handshake = [packet for packet in self._flow(packets) if self.vpn.is_handshake(packet)]
        early = {packet.outgoing for packet in handshake if packet.timestamp_ns <= returned_ns}
        if self._expects_handshake and early != {True, False}:
            self.breaks(
                rule,
                f"{len(handshake)} of {len(self._flow(packets))} packets of the outer flow are "
                "recognised, but not one in each direction before reach() returned",
            )
        if not self._expects_handshake and handshake:
            self.breaks(
                rule,
                f"{len(handshake)} packets are recognised as a handshake, which it does not have",
            )
        if rule is Rule.HANDSHAKE:
            self.findings.looked_at.add(rule)

    def _look_at_interfaces(self) -> None:
        for node in self.nodes:
            self.story.look(f"the interface of node {node.name}", "interface")
            name = self.vpn.interface(node)
            link = node.link(name)
            if link is None or not link.up:
                self.breaks(
                    Rule.INTERFACE, f"{name} on node {node.name} is {'down' if link else 'missing'}"
                )
            self.findings.looked_at.add(Rule.INTERFACE)
            with self.guarded(Rule.DATA_PATH):
                self.story.look(f"the data path of node {node.name}", "determine_data_path")
                path = self.vpn.determine_data_path(node)
                if path is not self.vpn.data_path:
                    self.breaks(Rule.DATA_PATH, f"{path} on node {node.name}, not as declared")
        if self.vpn.variant.encrypts and self.vpn.data_path is DataPath.NONE:
            self.story.look("the data path", "data_path")
            self.breaks(Rule.DATA_PATH, "it encrypts, but declares the data path none")

    def _largest_inner(self) -> int:
        """The longest inner packet that no side of the tunnel fragments."""
        link = self.lab.a.link(self.vpn.interface(self.lab.a))
        fits = largest_inner(self.vpn.outer_length, self.lab.spec.link.mtu)
        return min(link.mtu, fits) if link else 0

    def _look_at_overhead(self) -> None:
        self.story.look("outer_length() of all lengths", "outer_length", "overhead")
        self.findings.looked_at.add(Rule.OVERHEAD)
        least = 1 if self.vpn.variant.encrypts else 0
        previous = 0
        for inner in range(_SMALLEST_INNER, self._largest_inner() + 1):
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

    def _look_at_lengths(self, capture: UnderlayLook) -> None:
        least = smallest_ping(self.vpn.traffic_address(self.lab.b))
        for inner in (*(max(size, least) for size in SIZES), self._largest_inner()):
            self.story.look(
                f"{PINGS} pings of {inner} bytes", "outer_length", "outer_flow", "is_handshake"
            )
            capture.packets()
            answered = self._pings(*self.nodes, length=inner, count=PINGS)
            if answered < PINGS:
                self.breaks(Rule.LENGTHS, f"{answered} of {PINGS} pings of {inner} bytes come back")
                continue
            sent = [packet for packet in self._flow(capture.packets()) if packet.outgoing]
            carriers = [packet.length for packet in sent if not self.vpn.is_handshake(packet)]
            expected = self.vpn.outer_length(inner)
            if expected is None:
                carried = sum(carriers) >= inner * PINGS
            else:
                carried = carriers.count(expected) >= PINGS
            if not carried:
                went = f"as {carriers}" if carriers else self._elsewhere(sent)
                self.breaks(
                    Rule.LENGTHS,
                    f"an inner packet of {inner} bytes must be {expected or f'at least {inner}'} "
                    f"bytes outside; {PINGS} pings went out {went}"
                    + (_COMPRESSED if 0 < sum(carriers) < inner * PINGS else ""),
                )
        self.findings.looked_at.add(Rule.LENGTHS)

    def _elsewhere(self, sent: Sequence[OuterPacket]) -> str:
        """Where packets of a ping are, if none is a data packet of the outer flow."""
        if not sent:
            return "as nothing in the outer flow"
        protocols = sorted({packet.protocol for packet in sent})
        return (
            f"as {len(sent)} packets of the outer flow, of IP protocol "
            f"{', '.join(map(str, protocols))}, all of which is_handshake() recognises"
        )

    def _look_for_secrets(self, witness: LeakWitness) -> None:
        self.story.look("the secrets", "configure")
        if self.vpn.variant.encrypts and not witness.tokens():
            self.breaks(Rule.SECRET_FILES, "it encrypts, but no file is written with secret=True")
        for exposed in witness.exposed_files(self.nodes):
            self.breaks(Rule.SECRET_FILES, exposed)
        for leak in witness.leaks(self.nodes):
            self.breaks(Rule.LEAKS, leak)
        self.findings.looked_at |= {Rule.SECRET_FILES, Rule.LEAKS}

    def _cycle(self, capture: UnderlayLook) -> None:
        """Leave, check that it is down, reach, check that it is up after a new handshake."""
        self.vpn.leave(self.lab.a)
        if not self._is_down():
            target = self.vpn.traffic_address(self.lab.b)
            self.breaks(Rule.COLD, f"{target} still answers after leave()")
        capture.packets()
        self.vpn.reach(self.lab.path)
        returned_ns = time.time_ns()
        if self._answered(capture):
            self._look_at_handshake(capture.packets(), returned_ns, Rule.COLD)

    def _look_at_events(self, capture: UnderlayLook) -> None:
        """An event that a driver does not offer (NotPossible) is not checked."""
        path = self.lab.path
        with self.guarded(Rule.ROUTE):
            self.story.look(f"the route of {path}", "determine_route", "route")
            found = self.vpn.determine_route(path)
            if found != self.vpn.route(path):
                self.breaks(Rule.ROUTE, f"{found}, not {self.vpn.route(path)}")
        capture.packets()
        if self._offered(Rule.DROP, lambda: dropping(self.vpn).drop(path)):
            with self.guarded(Rule.DROP):
                self._drop(capture)
        for node in (self.lab.a, self.lab.b):
            self._crash(node, capture)

    def _offered(self, rule: Rule, event: Callable[[], None]) -> bool:
        """Whether an event took place."""
        try:
            event()
        except NotPossible as error:
            self.findings.not_offered[rule] = error.why
        except (Exception, SystemExit):  # of the driver
            with self.guarded(rule):
                raise
        else:
            return True
        return False

    def _drop(self, capture: UnderlayLook) -> None:
        """A ping finds no tunnel, or makes one with a new handshake where packets do that."""
        if self.vpn.on_demand:
            if self._answered(capture, Rule.DROP):
                self._look_at_handshake(capture.packets(), time.time_ns(), Rule.DROP)
            return
        if not self._is_down():
            target = self.vpn.traffic_address(self.lab.b)
            self.breaks(Rule.DROP, f"{target} still answers after drop()")
        resuming(self.vpn).resume(self.lab.path)
        self._answered(capture, Rule.DROP)

    def _crash(self, node: Node, capture: UnderlayLook) -> None:
        """No packet may leave the node after it is killed; then it is started anew.

        A packet may have left just before, by chance; a VPN that announces its end does so each
        time.
        """
        counts: list[int] = []
        while len(counts) < _CRASHES and 0 not in counts:
            with self.story.part(f"crash {len(counts) + 1} of node {node.name}"):
                capture.packets()
                ran = list(self.vpn.processes[node.name])
                if not self._offered(Rule.CRASH, lambda: self.vpn.crash(node)):
                    return
                with self.guarded(Rule.CRASH):
                    for process in ran:
                        if process.alive():
                            self.breaks(Rule.CRASH, f"{process.name} runs on after crash()")
                    counts.append(self._sent_in_crash(node, capture))
                    self.vpn.leave(self.lab.a)
                    self.vpn.join(node)
                    self.vpn.reach(self.lab.path)
                    self._answered(capture, Rule.CRASH)
                if self.findings.broken(Rule.CRASH):
                    return
        if 0 not in counts:
            self.breaks(
                Rule.CRASH, f"node {node.name} sent {min(counts)} packets after it was killed"
            )

    def _sent_in_crash(self, node: Node, capture: UnderlayLook) -> int:
        """Packets of the VPN that the node has sent from just before it is killed."""
        outgoing = node.name == self.lab.a.name
        relayed = not outgoing and bool(self.lab.of_role(Role.RELAY))
        sent = [
            each
            for each in self._flow(capture.packets())
            # The kernel closes the TCP connections of killed processes. A relay reports over TCP
            # that a node is gone.
            if each.outgoing is outgoing
            and (each.protocol != _TCP or (each.payload and not relayed))
        ]
        return len(sent)

    def stop_twice(self) -> None:
        """As a user may, and as the lab does at its end."""
        for _ in range(2):
            with self.guarded(Rule.CLEAN):
                self.vpn.stop(self.lab)

    def look_for_remains(self, before: Mapping[Node, NodeState]) -> None:
        """What was not on a node ``before``, or is no longer."""
        self.story.look("what is left", "stop")
        self.findings.looked_at.add(Rule.CLEAN)
        for node, state in before.items():
            for remains in node_state(node).left_since(state):
                self.breaks(Rule.CLEAN, f"node {node.name}: {remains}")

    def _flow(self, packets: Sequence[OuterPacket]) -> list[OuterPacket]:
        """The tunnel's packets; without a tunnel, the pings themselves."""
        flow = self.vpn.outer_flow
        if flow is None:
            return [packet for packet in packets if packet.protocol == _ICMP]
        return [packet for packet in packets if flow.has(packet)]
