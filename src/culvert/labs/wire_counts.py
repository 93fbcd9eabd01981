"""What passed through a wire and what did not, as it counts itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Counts:
    """What passed in one direction and what did not, in packets of the wire since the start.

    ``ring_full_packets`` and ``overrun_packets`` say that the link was not what was asked for.
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


@dataclass(frozen=True)
class Statistics:
    """Counts by direction; ``elapsed_ns`` since the wire was ready."""

    elapsed_ns: int
    a_to_b: Counts
    b_to_a: Counts

    def faults(self) -> list[str]:
        """What no condition asks for: packets that the wire could not hold or not understand."""
        return [
            f"{count} packets {what}, {direction}"
            for direction, counts in (("a to b", self.a_to_b), ("b to a", self.b_to_a))
            for count, what in (
                (counts.overrun_packets, "found no room in the wire's memory"),
                (counts.malformed_packets, "were not understood by the wire"),
            )
            if count
        ]

    @classmethod
    def said(cls, line: dict[str, Any]) -> Statistics:
        """From a line of the program."""
        return cls(line["elapsed_ns"], _counts(line["a_to_b"]), _counts(line["b_to_a"]))


def _counts(said: dict[str, int]) -> Counts:
    return Counts(**{field.name: said[field.name] for field in fields(Counts)})
