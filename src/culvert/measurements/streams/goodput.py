"""The rate of a stream: bytes, divided by no less than the time in which they crossed the path.

::

    bytes read         ,----     A hole in the stream, of a lost segment, holds back what arrives
             ,---------'         after it; all of that is read when the hole is filled. A window
    --------'  hole    begin     that begins inside counts bytes that had crossed before it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from culvert.probe.results.tcp import BytesInterval, StreamSunk

HELD_S = 1.0
"""Within this time after the warm-up the window begins; a lost segment is sent again after one
round trip, or after 0.2 s if its loss is noticed by time."""
HELD_SHARE = 0.25
"""Share of a short window within which it begins."""
UNREAD_SHARE = 0.001
"""Moments at which no more than this share of all bytes was unread are alike."""


def goodput_bps(sunk: StreamSunk, warmup_s: float) -> float:
    """Bit/s that arrived after the warm-up; of the whole time if nothing arrived after it."""
    if sunk.first_ns is None or sunk.last_ns is None:
        return 0.0
    for from_ns in (sunk.first_ns + round(warmup_s * 1e9), 0):
        found = crossed_bps(sunk.intervals, from_ns)
        if found is not None:
            return found
    lasting_ns = sunk.last_ns - sunk.first_ns
    return 8e9 * sunk.bytes / lasting_ns if lasting_ns else 0.0


def crossed_bps(
    intervals: Sequence[BytesInterval], from_ns: int, to_ns: int | None = None
) -> float | None:
    """Bit/s of whole intervals, from the first that begins after ``from_ns``; None of no interval.

    What was held back is counted in no window. Of the first moments, the window begins at one at
    which least was unread, and of these at that after which the rate is least: what the VPN's own
    connection held back is in no count.
    """
    end_ns = math.inf if to_ns is None else to_ns
    late = [one for one in intervals if from_ns < one.t_ns <= end_ns]
    if len(late) < 2:
        return None
    last_ns, total = late[-1].t_ns, sum(one.bytes for one in late[1:])
    latest_ns = late[0].t_ns + min(1e9 * HELD_S, HELD_SHARE * (last_ns - late[0].t_ns))
    first = [one for one in late[:-1] if one.t_ns <= latest_ns]
    most_unread = min(one.unread for one in first) + UNREAD_SHARE * total
    least_bps, left = math.inf, total + late[0].bytes
    for one in first:
        left -= one.bytes
        if one.unread <= most_unread:
            counted = max(left - one.unread, 0)
            least_bps = min(least_bps, 8e9 * counted / max(last_ns - one.t_ns, 1))
    return least_bps
