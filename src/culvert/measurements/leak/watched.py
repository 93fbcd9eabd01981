"""What was seen of one phase, and whether a leak would have been seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from culvert.measurements.leak.client import FlowKind
from culvert.probe.results import FlowTally, LeakedPacket, LeakKind, Leaks
from culvert.results import Metric, Series
from culvert.topology.graph import Role
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.vpns.variant import Carried

LONGEST_PAUSE_S = 1.0
"""Without a message of a flow: one that did not send leaks nothing."""


def silent(tallies: Mapping[str, FlowTally], carries: Carried) -> list[str]:
    """The flows of IPv4 of which no message was answered; not every tunnel carries IPv6, and a
    proxy carries no pings."""
    pings = {FlowKind.ICMP} if carries is Carried.PAYLOAD else set()
    return [
        name
        for name, tally in tallies.items()
        if not name.endswith("6") and name not in pings and not tally.answered
    ]


@dataclass(frozen=True)
class Watched:
    """What was seen; by flow the applications' messages ``after`` the event, and those that
    ``reached`` the public host when the tunnel was up: before the event, or after the watch."""

    found: Leaks
    reached: Mapping[str, FlowTally]
    after: Mapping[str, FlowTally]
    event_ns: int
    ended_ns: int
    up_before: bool

    @property
    def since(self) -> Sequence[LeakedPacket]:
        return [each for each in self.found.leaked if each.realtime_ns >= self.event_ns]

    def metrics(self) -> Iterator[Metric]:
        """All of the trial; by kind with its name as a label."""
        since = self.since
        yield from self._of(since, {})
        for kind in LeakKind:
            of_kind = [each for each in since if each.kind is kind]
            yield from self._of(of_kind, {"kind": kind.value})
        queries = sum(each.kind is LeakKind.DNS for each in since)
        yield Metric("clear_dns_queries", "packets", queries)
        if self.up_before:
            before = len(self.found.leaked) - len(since)
            yield Metric("leaked_before_packets", "packets", before)
        yield Metric("watched_ms", "ms", (self.ended_ns - self.event_ns) / 1e6)
        yield Metric("tunnel_packets", "packets", self.found.tunnel_packets)
        for name, tally in self.after.items():
            flow = {"flow": name}
            yield Metric("attempted_messages", "packets", tally.attempts, flow)
            yield Metric("answered_messages", "packets", tally.answered, flow)
        yield Metric("longest_pause_ms", "ms", self._longest_pause_ns() / 1e6)

    def _of(self, leaked: Sequence[LeakedPacket], labels: Mapping[str, str]) -> Iterator[Metric]:
        yield Metric("leaked_packets", "packets", len(leaked), labels)
        yield Metric("leaked_bytes", "bytes", sum(each.bytes for each in leaked), labels)
        if leaked:
            times_ns = [each.realtime_ns - self.event_ns for each in leaked]
            yield Metric("first_leak_ms", "ms", min(times_ns) / 1e6, labels)
            yield Metric("last_leak_ms", "ms", max(times_ns) / 1e6, labels)

    def series(self) -> list[Series]:
        """Each leaked packet, with its time from the event."""
        found = []
        for kind in LeakKind:
            leaked = [each for each in self.found.leaked if each.kind is kind]
            points = [(each.realtime_ns - self.event_ns, each.bytes) for each in leaked]
            if points:
                found.append(Series.of("leaked_bytes", "bytes", points, kind=kind.value))
        return found

    def checks(self, session: Session, *, frozen: bool, ipv6: bool) -> Iterator[Check]:
        """Whether a leak would have been seen; ``ipv6``: one of IPv6 too."""
        found = self.found
        yield Check(
            "every packet at the provider was examined",
            found.kernel_drops == 0 and found.more_leaked == 0,
            f"{found.kernel_drops} packets were not examined, {found.more_leaked} leaked ones not "
            f"listed, on node {session.lab.of_role(Role.ROUTER)[0].name}",
            "lower the rate, or stop other programs on this machine",
        )
        yield self._reached(session.vpn.carries)
        pause_ns = self._longest_pause_ns()
        yield Check(
            "the applications sent all the time",
            frozen or pause_ns <= LONGEST_PAUSE_S * 1e9,
            f"at most {pause_ns / 1e6:.0f} ms without a message of a flow",
            "stop other programs on this machine",
        )
        if session.vpn.outer_flow is None:
            kinds = {each.kind for each in self.since}
            wanted = {LeakKind.DNS, LeakKind.TCP, LeakKind.UDP, LeakKind.ICMP}
            wanted |= {LeakKind.IPV6} if ipv6 else set()
            yield Check(
                "the provider sees each kind of packet without a VPN",
                wanted <= kinds,
                f"seen: {', '.join(sorted(kinds)) or 'nothing'}",
                "the capture at the provider has no traffic: check the probe's capabilities",
            )
        else:
            yield Check(
                "the tunnel's packets are at the provider",
                found.tunnel_packets > 0,
                f"{found.tunnel_packets} packets are of the tunnel",
                "the tunnel does not cross the provider's router: check the routes",
            )

    def _reached(self, carries: Carried) -> Check:
        unanswered = silent(self.reached, carries)
        answered = sum(tally.answered for tally in self.reached.values())
        return Check(
            "the applications reach the public host",
            not unanswered,
            f"{answered} messages were answered {'before' if self.up_before else 'after'} the "
            f"{'event' if self.up_before else 'watch'}"
            + (f", none of {', '.join(unanswered)}" if unanswered else ""),
            "the tunnel does not carry the client's traffic to the internet: try "
            "culvert up VPN --topology public",
        )

    def _longest_pause_ns(self) -> int:
        """Of all flows but streams, which wait for a connection once theirs is broken."""
        pauses_ns = [
            tally.longest_pause_ns
            for name, tally in self.after.items()
            if not name.startswith(FlowKind.TCP_STREAM)
        ]
        return max(pauses_ns, default=0)
