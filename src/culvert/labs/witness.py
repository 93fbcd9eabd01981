"""The witness: a link that counts and records the packets that it carries.

::

    node a ── sent ── [ the link ] ── delivered ── node b          and the other way

Only a wire is one. It observes packets between the nodes, independently of their kernels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

RING_BYTES = 64 << 20
"""Memory of a recording for each direction."""

Protocols = Sequence[tuple[int, frozenset[int]]]
"""IP protocols of a flow, each with its ports at either end; none: all."""


class View(StrEnum):
    """Which packets, as seen from a node's end of the link."""

    NODE = "what the node sends, and what is delivered to it"
    SENT = "what either end sends, whatever becomes of it"
    TOWARDS = "what is sent towards the node, whatever becomes of it"


@dataclass(frozen=True)
class Handed:
    """Packets that a node has handed to the wire until now, and the bytes of their frames."""

    packets: int
    frame_bytes: int

    def since(self, before: Handed) -> Handed:
        """Packets and bytes handed over since ``before``."""
        return Handed(self.packets - before.packets, self.frame_bytes - before.frame_bytes)


class Witness(ABC):
    """A node's end of a link that counts and records packets."""

    @abstractmethod
    def record(
        self,
        name: str,
        view: View,
        *,
        packet_bytes: int,
        sample_one_in: int,
        marks: Mapping[str, int] | None = None,
        flow: Protocols | None = None,
    ) -> None:
        """Start a recording: ``packet_bytes`` of each packet (without its Ethernet header), of a
        random one in ``sample_one_in`` packets. With ``marks`` all packets are searched: one that
        has eight bytes in a row with these ``bits`` under the ``mask`` is recorded whole, and with
        a ``flow`` one that is not of it. A recording of that name is replaced."""

    @abstractmethod
    def save(self, name: str, path: Path) -> None:
        """End a recording: save it as pcapng (mode 0600) and free its memory. Raises LabError."""

    @abstractmethod
    def handed(self) -> Handed:
        """Packets and bytes that the node has handed over until now."""
