"""The wire as a link of a lab: what passes, what it is told, how it ends."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import pytest

from culvert.errors import LabError
from culvert.labs.base import Handed
from culvert.labs.link.wire.cable import Wire
from culvert.labs.link.wire.counts import Counts, Statistics
from culvert.labs.namespace.process import LocalProcess
from culvert.labs.netns.lab import NetnsLab
from culvert.topology.link.impairment import Bursts, Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.presets import PRESETS
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until
from tests.conftest import LabFactory
from tests.labs.traffic import can_reach, capture, captured_lengths, tcp_pair, udp_pair

pytestmark = pytest.mark.lab
MS = 1_000_000
MEGABYTE = bytes(1 << 20)


def spec(impairment: OneWay | None = None, *, offloads: bool = False, seed: int = 1) -> LabSpec:
    chosen = Impairment(a_to_b=impairment or OneWay())
    return LabSpec(link=LinkSpec(kind="wire", offloads=offloads, impairment=chosen, seed=seed))


def flood(lab: NetnsLab, packets: int) -> Counts:
    """Send datagrams from a to b, and return the wire's counts once it has dealt with all."""
    wire = lab.wires[0]
    before = wire.statistics().a_to_b.received_packets
    with udp_pair(lab.a, lab.b) as (near, _):
        for _ in range(packets):
            near.send(bytes(100))
        return wait_until(
            lambda: _all_received(wire, before + packets), what="the packets", deadline_s=5
        )


FATES = (
    *("delivered", "lost", "queue_full", "codel", "blackout", "filtered", "overrun"),
    *("too_long", "malformed", "refused", "in_flight"),
)


def _all_received(wire: Wire, packets: int) -> Counts | None:
    counts = wire.statistics().a_to_b
    told = sum(getattr(counts, f"{fate}_packets") for fate in FATES) - counts.duplicated_packets
    # Received is counted before a packet's fate is: wait for both.
    return counts if counts.received_packets == packets == told else None


def longest(lab: NetnsLab) -> int:
    with capture(lab.b, "u0") as tap, tcp_pair(lab.a, lab.b) as (near, far):
        near.setblocking(False)
        sent = near.send(MEGABYTE)
        while sent > 0:
            sent -= len(far.recv(1 << 20))
        return max(captured_lengths(tap))


def test_both_ways_and_nothing_else(lab: LabFactory) -> None:
    pair = lab(spec())
    assert can_reach(pair.a, pair.b, port=5001)
    assert can_reach(pair.b, pair.a, port=5001)
    state = pair.a.link("u0")
    assert state is not None
    assert (state.mtu, state.up, state.addresses) == (1500, True, (pair.a.underlay.address,))
    statistics = pair.wires[0].statistics()
    assert statistics.a_to_b.received_packets == statistics.b_to_a.received_packets


def test_a_routed_lab_is_impaired_once(lab: LabFactory) -> None:
    loss = Impairment.both(OneWay(loss=1.0))
    triple = lab(LabSpec(topology=routed(), link=LinkSpec(kind="wire", impairment=loss)))
    assert len(triple.wires) == 2
    assert len({wire.program for wire in triple.wires}) == len(triple.programs) == 1
    assert not can_reach(triple.a, triple.b, port=5001)
    assert triple.wires[0].statistics().a_to_b.lost_packets > 0
    assert triple.wires[1].statistics().a_to_b.received_packets == 0


def test_only_wire_packets_cross_without_offloads(lab: LabFactory) -> None:
    assert 1400 < longest(lab(spec())) <= 1500


def test_super_packets_cross_with_offloads(lab: LabFactory) -> None:
    pair = lab(spec(offloads=True))
    assert longest(pair) > 1500
    counts = pair.wires[0].statistics().a_to_b
    assert counts.received_bytes / counts.received_packets <= 1514


@pytest.mark.parametrize("offloads", [False, True])
def test_the_packets_named_are_lost(lab: LabFactory, offloads: bool) -> None:
    pair = lab(spec(OneWay(loss=(0, 3, 4)), offloads=offloads))
    with udp_pair(pair.a, pair.b) as (near, far):
        for number in range(6):
            near.send(bytes([number]))
        assert [far.recv(10)[0] for _ in range(3)] == [1, 2, 5]
    assert pair.wires[0].statistics().a_to_b.lost_packets == 3


def test_the_seed_decides(lab: LabFactory) -> None:
    def lost(seed: int) -> set[int]:
        pair = lab(spec(OneWay(loss=0.5), seed=seed))
        with udp_pair(pair.a, pair.b) as (near, far):
            for number in range(100):
                near.send(bytes([number]))
            counts = wait_until(
                partial(_all_received, pair.wires[0], 100), what="the packets", deadline_s=5
            )
            return set(range(100)) - {far.recv(10)[0] for _ in range(counts.delivered_packets)}

    assert lost(7) == lost(7)
    assert lost(7) != lost(8)


@pytest.mark.parametrize(
    ("one_way", "counter"),
    [
        (OneWay(loss=1.0), "lost_packets"),
        (OneWay(loss=Bursts(to_bad=1.0, to_good=0.0)), "lost_packets"),
        (OneWay(duplicate=1.0), "duplicated_packets"),
        (OneWay(corrupt=1.0), "corrupted_packets"),
        (OneWay(delay_ns=MS, reorder=1.0), "overtaken_packets"),
        (OneWay(rate_bps=8_000, queue_bytes=1_000), "queue_full_packets"),
        (OneWay(delay_ns=50_000 * MS), "in_flight_packets"),
    ],
)
def test_what_is_asked_happens(lab: LabFactory, one_way: OneWay, counter: str) -> None:
    counts = flood(lab(spec(one_way)), 50)
    assert getattr(counts, counter) >= 40
    assert counts.received_packets + counts.duplicated_packets == (
        counts.delivered_packets
        + counts.lost_packets
        + counts.queue_full_packets
        + counts.in_flight_packets
    )


@pytest.mark.parametrize("distribution", [d for d in JitterShape if d != "empirical"])
def test_a_delay_is_never_undercut(lab: LabFactory, distribution: JitterShape) -> None:
    pair = lab(spec(OneWay(delay_ns=20 * MS, jitter=Jitter(MS, distribution))))
    shortest_s = 0.020 if distribution is JitterShape.PARETO else 0.016
    with udp_pair(pair.a, pair.b) as (near, far):
        for _ in range(5):
            start = time.monotonic()
            near.send(b"x")
            far.recv(10)
            assert time.monotonic() - start >= shortest_s


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_understood(lab: LabFactory, name: str) -> None:
    impairment = PRESETS[name]
    pair = lab(LabSpec(link=LinkSpec(kind="wire", impairment=impairment)))
    assert pair.wires[0].statistics().a_to_b.received_packets == 0


def test_a_wire_counts_what_each_node_has_handed_to_it(lab: LabFactory) -> None:
    triple = lab(LabSpec(topology=routed(), link=LinkSpec(kind="wire")))

    def handed() -> list[Handed]:
        return [found for node in (triple.a, triple.b) if (found := triple.handed(node))]

    before = handed()
    with udp_pair(triple.a, triple.b) as (near, far):
        near.send(b"x")
        far.recv(10)
        now = [count.since(was) for count, was in zip(handed(), before, strict=True)]
    assert now == [Handed(1, 14 + 28 + 1), Handed(0, 0)]
    assert lab(LabSpec()).handed(triple.a) is None


@contextmanager
def killed(lab: NetnsLab) -> Iterator[Wire]:
    wire = lab.wires[0]
    process = wire.program._process
    assert isinstance(process, LocalProcess)
    process._signal(signal.SIGKILL)
    yield wire


def test_a_wire_that_is_killed_is_named(lab: LabFactory) -> None:
    pair = lab(spec())
    with killed(pair) as wire, pytest.raises(LabError, match="the wire"):
        wire.statistics()
    assert pair.a.link("u0") is None
    pair.close()


@pytest.mark.parametrize("_again", range(5))
def test_a_wire_that_is_killed_is_to_blame_for_its_devices(lab: LabFactory, _again: int) -> None:
    pair = lab(spec())
    with killed(pair):
        wait_until(lambda: pair.a.link("u0") is None, what="the device's end", deadline_s=5)
    assert "culvert-wire" in str(pair.broken())


def test_closing_leaves_nothing(lab: LabFactory) -> None:
    pair = lab(spec())
    pid = pair.programs[0].pid
    pair.close()
    assert not Path(f"/proc/{pid}").exists()
    assert not list(Path("/run/netns").glob(f"culvert-{pair.run_id}-*"))


def test_faults_are_what_no_condition_asks_for() -> None:
    clean = Counts(**{field.name: 0 for field in fields(Counts)})
    dropped = replace(clean, lost_packets=5, queue_full_packets=7)
    assert Statistics(dropped, clean).faults() == []
    broken = replace(clean, overrun_packets=2, malformed_packets=1)
    assert Statistics(clean, broken).faults() == [
        "2 packets did not fit in the wire's memory, b to a",
        "1 packets were malformed and not forwarded by the wire, b to a",
    ]


@pytest.mark.parametrize(
    ("delivered", "late", "most", "said"),
    [
        (1000, 10, 10, False),
        (1000, 11, 10, True),
        (50, 1, 2, False),
        (50, 3, 2, True),
        (5, 1, 1, False),
        (5, 2, 1, True),
        (0, 0, 1, False),
    ],
)
def test_a_wire_that_was_late_says_so(delivered: int, late: int, most: int, said: bool) -> None:
    clean = Counts(**{field.name: 0 for field in fields(Counts)})
    held = replace(
        clean, delivered_packets=delivered, late_packets=late, latest_ns=5_260_000 if late else 0
    )
    words = (
        f"{late} of {delivered} packets left the wire late, each by more than 1 ms and 2 % of its "
        f"time on the link (at most by 5.3 ms; of so many, {most} may be late), b to a"
    )
    assert Statistics(clean, held).faults() == ([words] if said else [])


def test_a_wire_that_stands_still_is_late(lab: LabFactory) -> None:
    # Long enough that a busy machine has all of them in flight at once.
    pair = lab(spec(OneWay(delay_ns=1500 * MS)))
    process = pair.wires[0].program._process
    assert isinstance(process, LocalProcess)
    with udp_pair(pair.a, pair.b) as (near, far):
        for _ in range(20):
            near.send(b"x")
        wait_until(
            lambda: pair.wires[0].statistics().a_to_b.in_flight_packets == 20 or None,
            what="the packets",
            deadline_s=5,
        )
        process._signal(signal.SIGSTOP)
        due_s = time.monotonic() + 1.52
        wait_until(lambda: time.monotonic() > due_s or None, what="their time", deadline_s=5)
        process._signal(signal.SIGCONT)
        for _ in range(20):
            far.recv(10)
    wait_until(
        lambda: pair.wires[0].statistics().a_to_b.delivered_packets == 20 or None,
        what="the count of the packet that arrived last",
        deadline_s=5,
    )
    (fault,) = pair.faults()
    assert " of 20 packets left the wire late" in fault
    assert fault.endswith("a to b")
