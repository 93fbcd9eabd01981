"""Counts of delivered, lost and refused packets, as reported by a wire."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

LATE = "1 ms and 2 % of its time on the link"
"""Delay after its due time from which a packet is late (crates/wire/src/direction/counters.rs): the
tolerance of the median in the verification of a link."""
ONE_LATE_OF = 100
"""One packet of so many may be late: lateness then does not change a trial's 99th percentile."""
MANY = 1000
"""From so many packets on the share of late ones decides; of fewer, a test of it."""
LEVEL = 0.95
"""Of the test of few packets."""


def most_late(delivered: int) -> int:
    """How many of these packets may be late.

    Of few packets a single one is a large share, and may be late once on a link that is in time.
    Fewer than ``MANY`` were too late if an exact test rejects that the link's share is at most one
    of ``ONE_LATE_OF``; a single packet never decides, and no more are permitted than of ``MANY``.
    """
    from scipy.special import bdtr  # noqa: PLC0415 - slow to import, seldom needed

    n = min(delivered, MANY)
    # The least count that as many or fewer of n packets reach with the probability LEVEL.
    in_time = next(late for late in range(n + 1) if bdtr(late, n, 1 / ONE_LATE_OF) >= LEVEL)
    few = min(in_time, MANY // ONE_LATE_OF)
    return max(1, few, delivered // ONE_LATE_OF)


@dataclass(frozen=True)
class Counts:
    """Counts of one direction since the start, in packets of the wire.

    ``overrun_packets``, ``malformed_packets`` and too many ``late_packets`` show that the link did
    not fulfil its conditions; ``ring_full_packets`` were dropped by the kernel before it.
    ``latest_ns`` is the greatest delay in excess of the requested one.
    """

    received_packets: int
    received_bytes: int
    delivered_packets: int
    lost_packets: int
    queue_full_packets: int
    codel_packets: int
    blackout_packets: int
    filtered_packets: int
    duplicated_packets: int
    corrupted_packets: int
    overtaken_packets: int
    overrun_packets: int
    too_long_packets: int
    malformed_packets: int
    refused_packets: int
    in_flight_packets: int
    ring_full_packets: int
    late_packets: int
    latest_ns: int

    @property
    def faults(self) -> list[str]:
        """Faults of this direction, in words: effects that no condition requests."""
        found = [
            f"{count} packets {what}"
            for count, what in (
                (self.overrun_packets, "did not fit in the wire's memory"),
                (self.malformed_packets, "were malformed and not forwarded by the wire"),
            )
            if count
        ]
        most = most_late(self.delivered_packets)
        if self.late_packets > most:
            found.append(
                f"{self.late_packets} of {self.delivered_packets} packets left the wire late, "
                f"each by more than {LATE} (at most by {self.latest_ns / 1e6:.1f} ms; "
                f"of so many, {most} may be late)"
            )
        return found


@dataclass(frozen=True)
class Statistics:
    """Counts by direction."""

    a_to_b: Counts
    b_to_a: Counts

    @property
    def ways(self) -> tuple[Counts, Counts]:
        """From the end a, and from the end b."""
        return self.a_to_b, self.b_to_a

    def faults(self) -> list[str]:
        """Faults, in words: packets that did not fit in the wire's memory, were malformed, or were
        delivered late."""
        return [
            f"{fault}, {direction}"
            for direction, counts in zip(("a to b", "b to a"), self.ways, strict=True)
            for fault in counts.faults
        ]

    @classmethod
    def of(cls, line: dict[str, Any]) -> Statistics:
        """From a line of the program's output."""
        return cls(_counts(line["a_to_b"]), _counts(line["b_to_a"]))


def _counts(reported: dict[str, int]) -> Counts:
    return Counts(**{field.name: reported[field.name] for field in fields(Counts)})
