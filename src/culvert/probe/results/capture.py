"""Results of a capture."""

from __future__ import annotations

from pydantic import Field

from culvert.probe.results.base import Result


class Count(Result):
    """Packets and IP bytes."""

    packets: int = 0
    bytes: int = 0


class TwoWay(Result):
    """Counts by direction, as seen from the node."""

    out: Count = Count()
    arriving: Count = Field(Count(), alias="in")

    def total(self) -> int:
        """Packets of both directions."""
        return self.out.packets + self.arriving.packets


class Others(Count):
    """Packets that do not belong to the tunnel, with a few examples as text."""

    examples: list[str] = []


class Randomness(Result):
    """Entropy of payload bytes after the first 64: 8.0 bits per byte is that of random data."""

    bytes: int
    bits_per_byte: float


class RecordedPacket(Result):
    """One packet; ``realtime_ns`` is the timestamp (CLOCK_REALTIME) of the kernel or the wire."""

    realtime_ns: int | None
    outgoing: bool
    protocol: int
    source_port: int = 0
    destination_port: int = 0
    length: int
    mss: int | None = None
    """Options that a SYN or SYN-ACK announces."""
    payload: str = ""


class Doubtful(Result):
    """Packets of the flow, and the start of the first hundred."""

    packets: int = 0
    recorded: list[RecordedPacket] = []


class InCommon(Result):
    """What the ciphertexts of a random sample of the flow's packets have in common."""

    packets: int = 0
    sharing: Doubtful = Doubtful()
    """Packets of the sample that have twelve bytes in a row of an earlier one."""
    columns: int = 0
    """Offsets in a kind of message at which the bytes of all its packets were judged."""
    structured: list[int] = []
    """Those at which they have structure; bytes behind the declared header."""


class Found(Result):
    """Packets with something in them, and one of them in words."""

    packets: int = 0
    example: str | None = None


class Searched(Result):
    """A search for the canary in all packets of a link; a super-packet is one."""

    packets: int


class Captured(Result):
    """Result of a ``capture`` task; counts are of the packets that were captured."""

    packets: int
    bytes: int
    matching: TwoWay
    beside: TwoWay = Field(default_factory=lambda: TwoWay.model_validate({}))
    """Packets that are not the lab's: the controller's connection, other traffic of a host."""
    about_flow: Count = Count()
    """ICMP errors that quote a packet of the tunnel."""
    other: Others
    fragments: int = 0
    gso_packets: int = 0
    """Packets longer than the device's MTU, which no packet on a wire is."""
    searched: Searched | None = None
    """None: what was captured was searched, and no other packet."""
    canary_hits: int = 0
    canary_example: str | None = None
    inner_ends: Found = Found()
    """Packets with source and destination of an inner header one behind the other."""
    strangers: Doubtful = Doubtful()
    """Of the flow, but none of its messages."""
    structured: Doubtful = Doubtful()
    """With structure where ciphertext is due."""
    readable: Doubtful = Doubtful()
    """Messages that may be clear text, such as a handshake's."""
    in_common: InCommon = InCommon()
    randomness: Randomness | None = None
    kernel_drops: int = 0
    """Packets that were neither captured nor searched because the buffer was full."""
    seconds: float = 0.0
    recorded: list[RecordedPacket] = []
    seen_by: str = "captured"
    searched_by: str = "searched"
    """What captured the packets, and searched them, and where, as participles for messages."""

    @property
    def searched_packets(self) -> int:
        """Packets that were searched for the canary."""
        return self.packets if self.searched is None else self.searched.packets
