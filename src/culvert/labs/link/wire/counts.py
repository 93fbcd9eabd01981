"""What passed through a wire and what did not, as it counts itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

LATE = "1 ms and 2 % of its time on the link"
"""So long after its moment a packet is late (crates/wire/src/counters.rs): what the verification of
a link tolerates in the median."""
MOST_LATE = 0.01
"""Share of the packets that may be late: a trial's 99th percentile is the link's own."""


@dataclass(frozen=True)
class Counts:
    """What passed in one direction and what did not, in packets of the wire since the start.

    ``ring_full_packets``, ``overrun_packets`` and too many ``late_packets`` say that the link was
    not what was asked for. ``latest_ns`` is the greatest delay beyond what was asked.
    """

    received_packets: int
    received_bytes: int
    delivered_packets: int
    delivered_bytes: int
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
        """What no condition asks for, in words."""
        found = [
            f"{count} packets {what}"
            for count, what in (
                (self.overrun_packets, "found no room in the wire's memory"),
                (self.malformed_packets, "were not understood by the wire"),
            )
            if count
        ]
        if self.late_packets > MOST_LATE * self.delivered_packets:
            found.append(
                f"{self.late_packets} of {self.delivered_packets} packets left the wire late, "
                f"each by more than {LATE} (the worst by {self.latest_ns / 1e6:.1f} ms; "
                f"{MOST_LATE:.0%} may)"
            )
        return found


@dataclass(frozen=True)
class Statistics:
    """Counts by direction; ``elapsed_ns`` since the wire was ready."""

    elapsed_ns: int
    a_to_b: Counts
    b_to_a: Counts

    def faults(self) -> list[str]:
        """What no condition asks for: packets that the wire could not hold, not understand, or not
        hand over when it should have."""
        return [
            f"{fault}, {direction}"
            for direction, counts in (("a to b", self.a_to_b), ("b to a", self.b_to_a))
            for fault in counts.faults
        ]

    @classmethod
    def said(cls, line: dict[str, Any]) -> Statistics:
        """From a line of the program."""
        return cls(line["elapsed_ns"], _counts(line["a_to_b"]), _counts(line["b_to_a"]))


def _counts(said: dict[str, int]) -> Counts:
    return Counts(**{field.name: said[field.name] for field in fields(Counts)})
