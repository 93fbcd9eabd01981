"""One load of many clients, from the sockets to what arrived.

::

    sinks listen ── sources open and connect ── all begin at one moment ── last packet ── silence
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from culvert.errors import DeadlineExceeded
from culvert.labs.node import Node
from culvert.measurements.clocks import ahead_ns
from culvert.measurements.gateway.crowd import (
    Carried,
    CrowdTrial,
    Load,
    Seats,
    Talk,
    Transport,
    forwarded_by_all,
)
from culvert.measurements.streams.offer import offer
from culvert.measurements.streams.packet import UDP_HEADERS, received
from culvert.probe.client import Probe, Task
from culvert.probe.results import parse
from culvert.probe.results.crowd import CrowdSent, CrowdSunk, MemberSent, MemberSunk
from culvert.probe.results.tcp import BytesInterval
from culvert.trial.session import Session

SLACK_S = 15.0
INTERVAL_MS = 100
LEAD_S, LEAD_APART_S = 0.05, 0.5
"""From the request to begin until the first packet: it has reached all probes by then, those on
other hosts as well."""
OF_A_CLIENT_S = 0.02
"""Longest time to open a client's socket and to connect it."""


@dataclass
class _Part:
    """Those of the talks, by number, whose sockets one probe has; ``node`` has its clock, by which
    all begin at ``begins_ns``."""

    task: Task
    numbers: Sequence[int]
    node: Node
    begins_ns: int = 0


class CrowdRun:
    """The targets listen from the beginning, the sources send from start() on."""

    def __init__(
        self,
        session: Session,
        seats: Seats,
        talks: Sequence[Talk],
        load: Load,
        address: Callable[[Node], str],
        quiet_ms: int,
    ) -> None:
        """``address`` is the node's inside the tunnel, or beside it."""
        self._session = session
        self._talks = talks
        self._load = load
        self._address = address
        self._seats = seats
        self._deadline_s = OF_A_CLIENT_S * len(talks) + load.lasting_s + SLACK_S
        self._sinks = self._listen(quiet_ms)
        self._ports: dict[int, int] = {}
        for sink in self._sinks:
            ready = sink.task.ready(self._deadline_s)
            self._ports |= dict(zip(sink.numbers, ready["ports"], strict=True))
        self._sources: list[_Part] = []

    def _groups(self, node: Callable[[Talk], Node]) -> list[tuple[Probe, list[int]]]:
        """Numbers of talks by the probe that has their sockets."""
        found: dict[int, tuple[Probe, list[int]]] = {}
        for number, talk in enumerate(self._talks):
            probe = self._seats.of(node(talk)).probe
            found.setdefault(id(probe), (probe, []))[1].append(number)
        return list(found.values())

    def _listen(self, quiet_ms: int) -> list[_Part]:
        parts = []
        load = self._load
        for probe, numbers in self._groups(lambda talk: talk.target):
            targets = [self._talks[number].target for number in numbers]
            task = probe.begin(
                "crowd_sink",
                protocol=load.transport,
                members=[self._member(node) for node in targets],
                threads=min(load.threads, len(numbers)),
                interval_ms=INTERVAL_MS,
                duration_max_s=self._deadline_s,
                quiet_ms=quiet_ms,
                clock="shared" if self._session.lab.shared_kernel else "separate",
                window_ns=[round(1e9 * load.warmup_s), round(1e9 * load.lasting_s)],
                offer=offer(load.lasting_s, self._session.link.impairment),
                until_all=load.until_all,
                **self._session.marks,
            )
            parts.append(_Part(task, numbers, targets[0]))
        return parts

    def _member(self, node: Node) -> dict[str, Any]:
        return {"netns": self._seats.of(node).netns, "bind": self._address(node)}

    def start(self) -> Self:
        """Returns when the first packet is due."""
        load = self._load
        for probe, numbers in self._groups(lambda talk: talk.source):
            members = [
                {
                    **self._member(self._talks[number].source),
                    "to": self._address(self._talks[number].target),
                    "port": self._ports[number],
                }
                for number in numbers
            ]
            task = probe.begin(
                "crowd_source",
                protocol=load.transport,
                members=members,
                threads=min(load.threads, len(numbers)),
                duration_s=load.lasting_s,
                **self._kind(),
                **self._session.marks,
            )
            self._sources.append(_Part(task, numbers, self._talks[numbers[0]].source))
        for source in self._sources:
            source.task.ready(self._deadline_s)
        self._begin()
        return self

    def _kind(self) -> dict[str, Any]:
        load = self._load
        if load.transport is Transport.TCP:
            return {"congestion_control": load.congestion_control}
        payloads = [size - UDP_HEADERS for size in load.sizes]
        return {
            "payload_size": payloads[0] if len(payloads) == 1 else payloads,
            "rate_pps": load.rate_pps,
            "on_off": load.on_off,
            "segmentation": load.segmentation,
            "early": load.early,
            "seed": self._session.lab.spec.link.seed % (1 << 48),
        }

    def _begin(self) -> None:
        """All at one moment, each by its node's clock."""
        shared = self._session.lab.shared_kernel
        parts = [*self._sinks, *self._sources]
        ahead = [ahead_ns(self._session, part.node) for part in parts]
        at_ns = time.monotonic_ns() + round(1e9 * (LEAD_S if shared else LEAD_APART_S))
        for part, part_ahead_ns in zip(parts, ahead, strict=True):
            part.begins_ns = at_ns + part_ahead_ns
            part.task.begin_at(part.begins_ns)
        time.sleep(max(at_ns - time.monotonic_ns(), 0) / 1e9)  # part of the method

    def finish(self) -> CrowdTrial:
        """Wait until the last packet is sent, then until the last one has arrived."""
        sources = [
            parse(CrowdSent, source.task.result(self._deadline_s)) for source in self._sources
        ]
        sent = self._by_number(sources)
        # Duplicates may arrive after all other packets.
        known = self._load.transport is Transport.UDP
        known &= not self._session.link.impairment.duplicates
        sinks = []
        for sink in self._sinks:
            packets = sum(sent[number].packets for number in sink.numbers) if known else None
            sinks.append(parse(CrowdSunk, sink.task.stop(SLACK_S, packets=packets)))
        return self._trial(sources, sinks, self._load.lasting_s)

    def stop(self) -> CrowdTrial:
        sources = self._stop_sources()
        return self._trial(
            sources, [parse(CrowdSunk, sink.task.stop(SLACK_S)) for sink in self._sinks]
        )

    def until_all(self, deadline_s: float) -> CrowdTrial:
        """End it when something has arrived of each client, or after a time."""
        sinks = []
        for sink in self._sinks:
            try:
                answer = sink.task.result(deadline_s)
            except DeadlineExceeded:
                answer = sink.task.stop(SLACK_S)
            sinks.append(parse(CrowdSunk, answer))
        return self._trial(self._stop_sources(), sinks)

    def _stop_sources(self) -> list[CrowdSent]:
        return [parse(CrowdSent, source.task.stop(SLACK_S)) for source in self._sources]

    def _by_number(self, sources: Sequence[CrowdSent]) -> Mapping[int, MemberSent]:
        return {
            number: member
            for source, result in zip(self._sources, sources, strict=True)
            for number, member in zip(source.numbers, result.members, strict=True)
        }

    def _trial(
        self, sources: Sequence[CrowdSent], sinks: Sequence[CrowdSunk], offered_s: float = 0.0
    ) -> CrowdTrial:
        """``offered_s`` is the time of sources that sent to their end; others sent less long."""
        sent = self._by_number(sources)
        sent_s = max((one.last_ns - one.first_ns) / 1e9 for one in sources)
        sunk: dict[int, MemberSunk] = {}
        for sink, got in zip(self._sinks, sinks, strict=True):
            sunk |= dict(zip(sink.numbers, got.members, strict=True))
        intervals = _together(
            (got.intervals, sink.begins_ns) for sink, got in zip(self._sinks, sinks, strict=True)
        )
        return CrowdTrial(
            [Carried(talk, sent[n], sunk[n]) for n, talk in enumerate(self._talks)],
            self._load.sizes[0] if len(self._load.sizes) == 1 else None,
            sent_s,
            self._late_s(sources),
            sources[-1].segmentation,
            [received(intervals)],
            forwarded_by_all(
                (
                    (got.forwarded, sink.begins_ns)
                    for sink, got in zip(self._sinks, sinks, strict=True)
                ),
                max(sent_s, offered_s),
            ),
            intervals,
            sinks[0].one_way if len(sinks) == 1 else None,
        )

    def _late_s(self, sources: Sequence[CrowdSent]) -> float:
        """Of the last source; a single one of UDP begins when it can, of TCP a time is counted."""
        if len(sources) == 1 and self._load.transport is Transport.UDP:
            return 0.0
        both = zip(sources, self._sources, strict=True)
        return max(source.first_ns - part.begins_ns for source, part in both) / 1e9


def _together(parts: Iterable[tuple[Sequence[BytesInterval], int]]) -> list[BytesInterval]:
    """Intervals of several sinks since the moment beside each, at which all began. They end when
    the first of them does: what later ones count arrived after it."""
    found: dict[int, list[BytesInterval]] = {}
    for intervals, zero_ns in parts:
        for one in intervals:
            since = BytesInterval(t_ns=one.t_ns - zero_ns, bytes=one.bytes)
            found.setdefault(since.t_ns // (INTERVAL_MS * 1_000_000), []).append(since)
    return [
        BytesInterval(t_ns=min(one.t_ns for one in each), bytes=sum(one.bytes for one in each))
        for _, each in sorted(found.items())
    ]
