"""A video keeps its bit rate; frames are late, lost or shown."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.measurements.apps.video import LEAST_BYTES, Played, Video, played

VIDEOS = st.builds(
    Video,
    rate_bps=st.integers(4_000_000, 100_000_000),
    frames_per_s=st.integers(10, 120),
    group_frames=st.integers(1, 100),
    key_factor=st.floats(1, 10),
    variation=st.floats(0, 0.5),
    payload_bytes=st.integers(500, 1400),
)
MS = 1_000_000


@given(VIDEOS)
def test_a_group_has_the_bytes_of_its_time_and_a_frame_those_of_its_packets(video: Video) -> None:
    # A frame is never smaller than a packet of the probe.
    assert 0 <= sum(video.frames_bytes) - video.group_bytes <= LEAST_BYTES * video.group_frames
    for size, packets in zip(video.frames_bytes, video.packets, strict=True):
        assert sum(packets) == size
        assert max(packets) <= video.payload_bytes
        assert max(packets) - min(packets) <= 1


def test_a_key_frame_is_larger_and_the_others_vary() -> None:
    video = Video(8_000_000, 60, 120, key_factor=5, variation=0.25, payload_bytes=1200)
    key, *others = video.frames_bytes
    mean = sum(others) / len(others)
    assert sum(video.frames_bytes) == 2_000_000
    assert key / mean == pytest.approx(5, rel=0.001)
    deviation = (sum((size - mean) ** 2 for size in others) / len(others)) ** 0.5
    assert deviation / mean == pytest.approx(0.25, abs=0.08)


@given(VIDEOS, st.integers(0, 5000))
def test_only_frames_that_were_sent_whole_count(video: Video, packets: int) -> None:
    frames = video.frames_in(packets)
    several = video.frames_packets * (frames // video.group_frames + 2)
    ends = [0, *accumulate(several)]
    assert ends[frames] <= packets < ends[frames + 1]


def test_late_lost_and_frozen() -> None:
    # Frames of 10 ms: in time, late, lost, in time, late, and one that never came at all.
    shown = played(
        [105 * MS, 150 * MS, None, 140 * MS, 180 * MS],
        frames=6,
        frames_per_s=100,
        first_ns=100 * MS,
        deadline_ns=30 * MS,
        one_clock=True,
    )
    assert shown.delays_ns == [5 * MS, 40 * MS, None, 10 * MS, 40 * MS, None]
    assert (shown.frames, shown.late, shown.lost, shown.longest_freeze) == (6, 2, 2, 2)
    assert (shown.delay_ns(0.5), shown.delay_ns(1.0)) == (10 * MS, 40 * MS)
    assert shown.delay_ns(0.9) is None  # of three frames none is beyond it


def test_with_two_clocks_the_fastest_frame_sets_the_clock() -> None:
    far = 77_000 * MS
    shown = played(
        [far + 25 * MS, far + 30 * MS, far + 90 * MS],
        frames=3,
        frames_per_s=100,
        first_ns=0,
        deadline_ns=30 * MS,
        one_clock=False,
    )
    assert shown.delays_ns == [5 * MS, 0, 50 * MS]
    assert shown.late == 1


@given(st.lists(st.none() | st.integers(0, 100), max_size=50), st.integers(0, 100))
def test_each_frame_is_one_of_three(delays: list[int | None], deadline: int) -> None:
    shown = Played(delays, deadline)
    in_time = sum(one is not None and one <= deadline for one in delays)
    assert shown.late + shown.lost + in_time == shown.frames
    assert shown.longest_freeze <= shown.late + shown.lost
    assert (shown.longest_freeze == 0) == (shown.late + shown.lost == 0)


def test_a_percentile_has_its_share_of_frames() -> None:
    shown = Played(list(range(1, 101)), 1)
    assert [shown.delay_ns(share) for share in (0.5, 0.9, 0.99, 1.0)] == [50, 90, 99, 100]
    assert Played([None], 1).delay_ns(1.0) is None
