"""The witness: what a link says itself about the packets that it carries.

::

    node a ── sent ── [ the link ] ── delivered ── node b          and the other way

Only a wire is one. It sees packets as they are between the nodes, whatever their kernels show.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

RING_BYTES = 64 << 20
"""Of a recording, for each direction."""


class View(StrEnum):
    """Which packets, as seen from a node's end of the link."""

    NODE = "what the node sends, and what is delivered to it"
    SENT = "what either end sends, whatever becomes of it"
    TOWARDS = "what is sent towards the node, whatever becomes of it"


@dataclass(frozen=True)
class Handed:
    """Packets of the wire that a node has handed over until now; bytes of their Ethernet frames."""

    packets: int
    frame_bytes: int

    def since(self, before: Handed) -> Handed:
        """What was handed over since then."""
        return Handed(self.packets - before.packets, self.frame_bytes - before.frame_bytes)


class Witness(ABC):
    """A node's end of a link that can tell."""

    @abstractmethod
    def record(self, name: str, view: View, *, packet_bytes: int, sample_one_in: int) -> None:
        """Record from now on, so many bytes of each packet (its Ethernet header not counted), of
        a random one in so many packets. A recording of that name is replaced."""

    @abstractmethod
    def save(self, name: str, path: Path) -> None:
        """End a recording: save it as pcapng (mode 0600) and forget it. Raises LabError."""

    @abstractmethod
    def handed(self) -> Handed:
        """What the node has handed over until now."""
