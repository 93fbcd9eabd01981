"""One clear packet among many encrypted ones on the measured link: how often it is found."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import ClassVar

from tests.proof.planted import CLEAR, HEADERS, failed, observed, send, watched

from bench.goal import Goal, Samples
from culvert.labs.base import Lab
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.labs.netns.lab import NetnsLab
from culvert.run.trials.paths import open_session
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns import registry
from culvert.vpns.lifecycle import bring_up

VPN = "wireguard/go"
ROUNDS = 100
PACKETS = 50_000
"""Encrypted ones in each round."""
RATE_PPS = 10_000
"""Below what the tunnel carries: all of them reach the far end."""
Load = Sequence[int]
Command = list[str] | None


@dataclass(frozen=True)
class _Look:
    """Packets that were searched, those with the canary, and the failed checks."""

    searched: int
    hits: int
    failed: Mapping[str, str]


class _OneClearPacket(Goal):
    """A round: a load, at a random place in it one clear packet, and then the load alone."""

    unit: ClassVar[str] = "share"
    goal: ClassVar[str] = f"all of {ROUNDS}, each among {PACKETS:,} packets; none without it"
    vpns: ClassVar[tuple[str, ...]] = (VPN,)

    @abstractmethod
    def _lab(self, stack: ExitStack) -> Lab:
        """Open; the stack closes it."""

    def measure(self) -> Samples:
        """1 for each round that found the one packet, and nothing where there was none; details
        have the packets that were searched."""
        samples = Samples()
        with ExitStack() as stack:
            lab = self._lab(stack)
            vpn = registry.create(registry.parse(VPN))
            stack.callback(vpn.stop, lab)
            vpn.prepare(lab)
            bring_up(vpn)
            session = open_session(stack, lab, vpn, lab.path)
            for number in range(ROUNDS):
                found, details = self._round(session, random.Random(number))
                samples.ours.append(float(found))
                samples.details.append(details)
        return samples

    def _round(self, session: Session, chance: random.Random) -> tuple[bool, dict[str, object]]:
        """Whether exactly the planted packet was found among so many, and of what."""
        kind = chance.choice(list(CLEAR))
        before = chance.randrange(1, PACKETS)
        clear = HEADERS[VPN] + CLEAR[kind](session.canary)
        load = (before, PACKETS - before)
        planted = self._look(session, load, send(session, clear, 1))
        honest = self._look(session, load)
        details: dict[str, object] = {
            "kind": kind,
            "before": before,
            "searched": [planted.searched, honest.searched],
            "failed": [planted.failed, honest.failed],
        }
        found = planted.hits == 1 and bool(planted.failed)
        quiet = honest.hits == 0 and not honest.failed
        return found and quiet and planted.searched >= PACKETS, details

    def _look(self, session: Session, load: Load, command: Command = None) -> _Look:
        """What the proof of this lab finds in it."""
        captured = watched(session, load, command, rate_pps=RATE_PPS)
        return _Look(captured.searched_packets, captured.canary_hits, failed(session, captured))

    def met(self, samples: Samples) -> bool:
        """No exception."""
        return len(samples.ours) == ROUNDS and all(share == 1 for share in samples.ours)

    def failed(self, samples: Samples) -> list[str]:
        """The rounds with an exception."""
        rounds = zip(samples.ours, samples.details, strict=True)
        return [str(one) for share, one in rounds if share < 1]


class ClearPacketNetns(_OneClearPacket):
    """Between namespaces."""

    name: ClassVar[str] = "clear-packet-netns"
    what: ClassVar[str] = "one clear packet found between namespaces"

    def _lab(self, stack: ExitStack) -> Lab:
        return stack.enter_context(NetnsLab(new_run_id(), LabSpec()))


class ClearPacketHosts(_OneClearPacket):
    """Between hosts, over SSH."""

    name: ClassVar[str] = "clear-packet-hosts"
    what: ClassVar[str] = "one clear packet found between hosts"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("sshd", "openssh-server"),)

    def _lab(self, stack: ExitStack) -> Lab:
        demo = stack.enter_context(DemoHosts())
        fleet = stack.enter_context(Fleet(read_inventory(demo.inventory), new_run_id()))
        return stack.enter_context(HostsLab(fleet, LabSpec()))


class ClearPacketPods(ClearPacketNetns):
    """Between namespaces, as on the nodes of a cluster."""

    name: ClassVar[str] = "clear-packet-pods"
    what: ClassVar[str] = "one clear packet found as between pods"

    def _look(self, session: Session, load: Load, command: Command = None) -> _Look:
        beside = observed(session, load, command, rate_pps=RATE_PPS)
        captured = [each.captured for each in beside.seen]
        return _Look(
            sum(each.searched_packets for each in captured),
            sum(each.canary_hits for each in captured),
            {check.name: check.detail for check in beside.checks if not check.passed},
        )
