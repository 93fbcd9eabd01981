"""A video of constant bit rate: its frames, the packets that carry them, and how they play. Pure.

::

    frame time   due │─── packets ───│                        due of the next
    arrival          │      ─ ─ ─ ─ last packet: whole        │
    play-out         │───────────────── deadline ─────────────│▶ late if it is whole only then
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from statistics import NormalDist

from culvert.measurements.streams.packet import SMALLEST, UDP_HEADERS

LEAST_BYTES = SMALLEST - UDP_HEADERS
"""Of a frame: the smallest packet's payload."""
GOLDEN = 0.618033988749894
"""Its multiples spread most evenly over 0 to 1: sizes of any distribution in no order."""
MOST_PACKETS = 50_000
"""Of a group: so many fit into a request of the probe."""


@dataclass(frozen=True)
class Video:
    """Groups of ``group_frames``, each with the bytes of the bit rate.

    The first frame of a group is a key frame, ``key_factor`` times as large as the others are on
    average; those vary by ``variation``, the coefficient of a lognormal distribution.
    ``payload_bytes`` fit into a packet.
    """

    rate_bps: int
    frames_per_s: int
    group_frames: int
    key_factor: float
    variation: float
    payload_bytes: int

    @property
    def group_bytes(self) -> int:
        """Payload of a group, as the bit rate has it."""
        return round(self.rate_bps / 8 * self.group_frames / self.frames_per_s)

    @cached_property
    def frames_bytes(self) -> tuple[int, ...]:
        """The size of each frame of the group; the same in each trial."""
        normal = NormalDist(sigma=max(math.sqrt(math.log1p(self.variation**2)), 1e-9))
        places = (number * GOLDEN % 1 for number in range(1, self.group_frames))
        others = [math.exp(normal.inv_cdf(place)) for place in places]
        mean = sum(others) / len(others) if others else 1.0
        weights = [self.key_factor * mean, *others]
        scale = self.group_bytes / sum(weights)
        ends = [round(end * scale) for end in accumulate(weights)]
        sizes = (end - begin for begin, end in zip([0, *ends], ends, strict=False))
        return tuple(max(size, LEAST_BYTES) for size in sizes)

    @cached_property
    def packets(self) -> tuple[tuple[int, ...], ...]:
        """Payloads of the packets of each frame of the group: as equal as they can be."""
        return tuple(_split(size, self.payload_bytes) for size in self.frames_bytes)

    @property
    def frames_packets(self) -> tuple[int, ...]:
        """Packets of each frame of the group."""
        return tuple(map(len, self.packets))

    @property
    def packets_per_s(self) -> float:
        """On average."""
        return sum(self.frames_packets) * self.frames_per_s / self.group_frames

    def frames_in(self, packets: int) -> int:
        """How many frames the first ``packets`` packets make, each whole."""
        ends = list(accumulate(self.frames_packets))
        groups, rest = divmod(packets, ends[-1])
        return groups * self.group_frames + sum(end <= rest for end in ends)


def _split(size: int, most: int) -> tuple[int, ...]:
    count = -(-size // most)
    return tuple(size // count + (number < size % count) for number in range(count))


@dataclass(frozen=True)
class Played:
    """The delay of each frame in ns, from its time to its last packet; None if it is not whole."""

    delays_ns: Sequence[int | None]
    deadline_ns: int

    @property
    def frames(self) -> int:
        return len(self.delays_ns)

    @property
    def lost(self) -> int:
        """Frames of which a packet never came."""
        return sum(delay is None for delay in self.delays_ns)

    @property
    def late(self) -> int:
        """Frames that were whole after the deadline."""
        return sum(delay is not None and delay > self.deadline_ns for delay in self.delays_ns)

    @property
    def longest_freeze(self) -> int:
        """Frames in a row that could not be shown."""
        shown = (delay is not None and delay <= self.deadline_ns for delay in self.delays_ns)
        return max((len(list(run)) for in_time, run in groupby(shown) if not in_time), default=0)

    def delay_ns(self, share: float) -> int | None:
        """The delay that this share of the whole frames has at most; None if no frame could be
        beyond it."""
        whole = sorted(delay for delay in self.delays_ns if delay is not None)
        # Rounded, because 10 * (1 - 0.9) is a little less than 1.
        if not whole or (share < 1 and round(len(whole) * (1 - share), 6) < 1):
            return None
        return whole[math.ceil(round(share * len(whole), 6)) - 1]


def played(
    whole_ns: Sequence[int | None],
    *,
    frames: int,
    frames_per_s: int,
    first_ns: int,
    deadline_ns: int,
    one_clock: bool,
) -> Played:
    """The first ``frames`` frames of a stream that began at ``first_ns``.

    ``whole_ns`` are the times of their last packets. With a clock at each end the fastest frame
    sets the receiver's clock, as players do it: delays are those above its own.
    """
    arrived = [*whole_ns[:frames], *[None] * (frames - len(whole_ns))]
    delays = [
        None if at is None else at - first_ns - round(number * 1e9 / frames_per_s)
        for number, at in enumerate(arrived)
    ]
    least = 0 if one_clock else min((one for one in delays if one is not None), default=0)
    return Played([None if one is None else one - least for one in delays], deadline_ns)
