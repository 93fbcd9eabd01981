"""Bytes divided by the time in which they crossed a path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.streams.goodput import crossed_bps, goodput_bps
from culvert.probe.results import TcpSunk
from culvert.probe.results.tcp import BytesInterval

MS = 10**6
WARMUP_S = 0.5


def sunk(intervals: list[tuple[int, int]], first_ns: int = 0) -> TcpSunk:
    """``intervals``: where each ends in ns, and its bytes."""
    return TcpSunk.model_validate(
        {
            "bytes": sum(count for _, count in intervals),
            "first_ns": first_ns,
            "last_ns": intervals[-1][0],
            "intervals": [{"t_ns": end, "bytes": count} for end, count in intervals],
        }
    )


def test_what_arrived_in_the_warm_up_does_not_count() -> None:
    slow = [(100 * MS * n, 1) for n in range(1, 6)]
    fast = [(100 * MS * n, 1250) for n in range(6, 26)]
    assert goodput_bps(sunk(slow + fast), WARMUP_S) == pytest.approx(1250 * 8 / 0.1)


def test_intervals_of_different_lengths_count_by_their_time() -> None:
    found = sunk([(100 * MS, 9), (200 * MS, 20), (500 * MS, 60)])
    assert goodput_bps(found, 0.0) == pytest.approx(8 * 80 / 0.4)


def test_with_hardly_an_interval_after_the_warm_up_all_of_it_counts() -> None:
    assert goodput_bps(sunk([(100 * MS, 1000)]), WARMUP_S) == pytest.approx(80_000)


def test_nothing_that_arrived_is_no_goodput() -> None:
    assert goodput_bps(TcpSunk(bytes=0), WARMUP_S) == 0.0


@given(
    rate_bps=st.integers(8, 10**12),
    start_ns=st.integers(0, 2**62),
    count=st.integers(8, 60),
)
def test_a_steady_stream_has_its_rate_whenever_it_began(
    rate_bps: int, start_ns: int, count: int
) -> None:
    each = rate_bps // 80
    ends = [(start_ns + 100 * MS * n, each) for n in range(1, count + 1)]
    found = goodput_bps(sunk(ends, first_ns=start_ns), WARMUP_S)
    assert found == pytest.approx(each * 80)


@given(st.lists(st.tuples(st.integers(1, 10**9), st.integers(0, 10**10)), min_size=1, max_size=40))
def test_goodput_is_between_the_slowest_and_the_fastest_interval(
    lengths: list[tuple[int, int]],
) -> None:
    ends: list[tuple[int, int]] = []
    for length, count in lengths:
        ends.append(((ends[-1][0] if ends else 0) + length, count))
    rates = [8e9 * count / length for length, count in lengths]
    found = goodput_bps(sunk(ends), WARMUP_S)
    assert min(rates) * 0.999 <= found <= max(rates) * 1.001


@given(
    lost_ms=st.integers(0, 3000),
    hole_ms=st.integers(1, 600),
    warmup_ms=st.integers(0, 900),
    lasting_ms=st.integers(40, 60).map(lambda intervals: 100 * intervals),
)
def test_what_a_hole_held_back_counts_in_no_window(
    lost_ms: int, hole_ms: int, warmup_ms: int, lasting_ms: int
) -> None:
    """A link carries 100 bytes in a millisecond, and a segment is lost: what follows it is read
    when it comes again."""
    read: dict[int, int] = {}
    for ms in range(lasting_ms):
        at_ms = lost_ms + hole_ms if lost_ms <= ms < lost_ms + hole_ms else ms
        read[at_ms // 100] = read.get(at_ms // 100, 0) + 100
    intervals = [BytesInterval(t_ns=(n + 1) * 100 * MS, bytes=read[n]) for n in sorted(read)]
    found = crossed_bps(intervals, warmup_ms * MS)
    assert found is not None
    assert found <= 8e5 * (1 + 1e-9)
    if lost_ms + hole_ms < warmup_ms:
        assert found == pytest.approx(8e5, rel=0.05)


def test_a_window_that_begins_in_a_hole_begins_after_it() -> None:
    """Else it reads 10 % above the link's rate."""
    read = [100, 0, 0, 0, 400, *[100] * 36]
    intervals = [BytesInterval(t_ns=(n + 1) * 100 * MS, bytes=b) for n, b in enumerate(read)]
    assert crossed_bps(intervals, 250 * MS) == pytest.approx(8000)


def test_what_was_read_in_one_call_has_no_rate() -> None:
    one = sunk([(100 * MS, 1000)], first_ns=100 * MS)
    assert goodput_bps(one, 0.0) == 0.0
