"""The packet sizes of a stream, in turn: one, a list, an IMIX or a sweep. Pure.

::

    64                           one size
    "max"                        the largest that crosses unfragmented
    "64,512,max"                 a list, in turn
    "7:4:1 of 64,570,1518"       seven of the first, four of the second, one of the third, in turn
    "imix"                       7:4:1 of 64,570,max
    "7a4d1z"                     a genome of RFC 6985: each letter is a size, z is "max"
    "64..1400 step 64"           a sweep

Sizes are those of inner IP packets in bytes, also those of the genome's letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, cast

from pydantic import AfterValidator, Field

from culvert.measurements.streams.packet import SMALLEST, marked_run
from culvert.study.table import problem
from culvert.trial.outside import LONG_RUN

LARGEST = 65535
MAX: Final = "max"
LONGEST = 10_000
"""A longer pattern would not repeat during a typical measurement."""
SIMPLE_IMIX = "7:4:1 of 64,570,max"
"""The proportions that testers call "simple IMIX"; its largest packet must cross the tunnel."""
GENOME: dict[str, int | Literal["max"]] = {
    "a": 64,
    "b": 128,
    "c": 256,
    "d": 512,
    "e": 1024,
    "f": 1280,
    "g": 1518,
    "h": 2112,
    "i": 9000,
    "j": 16000,
    "z": MAX,
}
"""RFC 6985, section 3; z is its MTU."""
REMEDY = (
    'write 64, "max", "64,512,max", "imix", "7:4:1 of 64,570,1518", "7a4d1z" or "64..1400 step 64"'
)

_WEIGHTS = re.compile(r"(?P<weights>[0-9:]+) of (?P<sizes>\S+)")
_SWEEP = re.compile(r"(?P<first>[0-9]+)\.\.(?P<last>[0-9]+) step (?P<step>[0-9]+)")
_GENES = re.compile(r"([0-9]*)([a-jz])")

Size = int | Literal["max"]


@dataclass(frozen=True)
class PacketSizes:
    """A pattern of sizes in bytes, repeated for as long as the stream lasts. Never empty."""

    pattern: tuple[Size, ...]

    @property
    def needs_max(self) -> bool:
        return MAX in self.pattern

    @property
    def marked_run(self) -> int:
        """Bytes of the canary in a row in each packet."""
        sizes = [size for size in self.pattern if size != MAX]
        return min([LONG_RUN, *map(marked_run, sizes)])

    def resolved(self, largest: int | None) -> tuple[int, ...]:
        """The pattern with ``largest`` in place of "max"; one size if all are equal."""
        found = tuple(largest or 0 if size == MAX else size for size in self.pattern)
        return found[:1] if len(set(found)) == 1 else found


def parse_sizes(written: int | str) -> PacketSizes:
    """Read a study's text; raises ValueError with the reason."""
    if isinstance(written, int):
        return PacketSizes((_size(str(written)),))
    text = SIMPLE_IMIX if written == "imix" else written
    if found := _WEIGHTS.fullmatch(text):
        pattern = _weighted(found["weights"].split(":"), found["sizes"].split(","))
    elif found := _SWEEP.fullmatch(text):
        pattern = _swept(found["first"], found["last"], int(found["step"]))
    elif text != MAX and re.fullmatch(f"(?:{_GENES.pattern})+", text):
        pattern = _weighted(*_genes(text))
    else:
        pattern = [_size(size) for size in text.split(",")]
    if not 0 < len(pattern) <= LONGEST:
        raise ValueError(f'"{written}" is a pattern of {len(pattern)} packets, not 1 to {LONGEST}')
    return PacketSizes(tuple(pattern))


def _size(text: str) -> Size:
    if text == MAX:
        return MAX
    if not text.isdecimal() or len(text) > len(str(LARGEST)):
        raise ValueError(f'"{text}" is not a packet size')
    if not SMALLEST <= int(text) <= LARGEST:
        raise ValueError(f"{text} is not a size from {SMALLEST} to {LARGEST} bytes")
    return int(text)


def _weighted(weights: list[str], sizes: list[str]) -> list[Size]:
    if len(weights) != len(sizes):
        raise ValueError(f"{len(weights)} weights do not match {len(sizes)} sizes")
    counts = []
    for weight in weights:
        if not weight.isdecimal() or not 0 < int(weight) <= LONGEST:
            raise ValueError(f'"{weight}" is not a weight from 1 to {LONGEST}')
        counts.append(int(weight))
    if sum(counts) > LONGEST:
        raise ValueError(f"the weights add up to {sum(counts)} packets, more than {LONGEST}")
    return [
        size for count, text in zip(counts, sizes, strict=True) for size in [_size(text)] * count
    ]


def _genes(genome: str) -> tuple[list[str], list[str]]:
    found = [(count or "1", str(GENOME[letter])) for count, letter in _GENES.findall(genome)]
    return [count for count, _ in found], [size for _, size in found]


def _swept(first: str, last: str, step: int) -> list[Size]:
    low, high = (cast("int", _size(end)) for end in (first, last))
    if step < 1 or low > high:
        raise ValueError(f"a sweep from {low} to {high} in steps of {step} has no size")
    return list(range(low, high + 1, step))


def _check(written: int | str) -> int | str:
    try:
        parse_sizes(written)
    except ValueError as error:
        raise problem(str(error), REMEDY) from None
    return written


Sizes = Annotated[int | Annotated[str, Field(max_length=200)], AfterValidator(_check)]
"""A parameter of a study; ``parse_sizes`` gives its value."""
