"""HDR histograms in their V2 encoding, in base64, compressed or not.

A header, then a number for each place from the lowest value on: its count, or, negative, a run of
places without one; ZigZag and LEB128 (AbstractHistogram.java of
https://github.com/HdrHistogram/HdrHistogram). The text may come from anybody: its size is bounded
before it is unpacked, and every place before it becomes a value.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 4 << 20
"""Greatest size of an unpacked histogram: with three digits one of 1 ns to 60 s has 27,000 places
of a byte or a few."""
MOST_VALUE = 2**62
MOST_RECORDED = 2**53

_COOKIES = struct.Struct(">II")
_HEAD = struct.Struct(">IIIIQQd")
"""Cookie, bytes after the header, offset, digits, lowest and highest value, a ratio."""
_PLAIN, _COMPRESSED = 0x1C849303, 0x1C849304
_WORD_SIZE = 0xF0
"""Bits of a cookie that do not tell the encoding."""
_WORD = 0x10
"""Those of numbers in LEB128."""
_LONGEST = 8
"""Bytes of a number: a count of 2**55 or more is none."""

_DIGITS, _HALF = 3, 10
"""Of what ``encoded`` writes: 2**10 values in each power of two keep three digits."""

Integers = NDArray[np.int64]


class Counts(NamedTuple):
    """Ascending values, each the greatest of its place, and how often each was recorded."""

    values: Integers
    counts: Integers


def counts_of(hdr_v2: str) -> Counts:
    """Decode a histogram. Raises ValueError with the reason if that cannot be done."""
    return decoded(unpacked(hdr_v2))


def unpacked(hdr_v2: str, most: int = MOST_BYTES) -> bytes:
    """The header and the numbers. Raises ValueError, also if they have more than ``most`` bytes."""
    data = base64.b64decode(hdr_v2, validate=True)
    if len(data) < _COOKIES.size:
        raise ValueError("its header is cut off")
    cookie, length = _COOKIES.unpack_from(data)
    if cookie & ~_WORD_SIZE != _COMPRESSED & ~_WORD_SIZE:
        content = data
    elif length != len(data) - _COOKIES.size:
        raise ValueError("it is cut off")
    else:
        content = _inflated(data[_COOKIES.size :], most)
    if len(content) > most:
        raise ValueError("it is too large when unpacked")
    return content


def encoded(values: Sequence[int], highest: int) -> str:
    """The compressed encoding, with three digits, of values from 1 to ``highest`` < 2**53."""
    recorded = np.asarray(values, np.int64)
    exponents = np.maximum(np.frexp(recorded.astype(np.float64))[1] - _HALF - 1, 0)
    places, counts = np.unique((exponents << _HALF) + (recorded >> exponents), return_counts=True)
    gaps = np.diff(places, prepend=-1) - 1
    numbers = np.stack((-gaps, counts), axis=1).ravel()
    numbers = numbers[numbers != 0]
    words = b"".join(map(_leb128, ((numbers << 1) ^ (numbers >> 63)).tolist()))
    head = _HEAD.pack(_PLAIN | _WORD, len(words), 0, _DIGITS, 1, highest, 1.0)
    packed = zlib.compress(head + words)
    return base64.b64encode(_COOKIES.pack(_COMPRESSED | _WORD, len(packed)) + packed).decode()


def _leb128(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _inflated(data: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof and len(content) <= most:
        raise ValueError("it is cut off")
    return content


def decoded(content: bytes) -> Counts:
    """The counts in what ``unpacked`` returns. Raises ValueError with the reason."""
    if len(content) < _HEAD.size:
        raise ValueError("its header is cut off")
    cookie, length, offset, digits, lowest, highest, _ = _HEAD.unpack_from(content)
    if cookie & ~_WORD_SIZE != _PLAIN & ~_WORD_SIZE:
        raise ValueError("it is not in the V2 encoding")
    if length > len(content) - _HEAD.size:
        raise ValueError("its counts are cut off")
    if offset or not 1 <= digits <= 5 or not 1 <= lowest <= highest // 2 or highest >= MOST_VALUE:
        raise ValueError("its header has impossible limits")
    # As many values of the lowest resolution as the digits need, a power of two of them.
    half = (2 * 10**digits - 1).bit_length() - 1
    unit = lowest.bit_length() - 1
    places, counts = _places(np.frombuffer(content, np.uint8, length, _HEAD.size))
    if places.size and places[-1] >= _room(half, unit, highest):
        raise ValueError("a value is greater than its highest")
    exponents = np.maximum((places >> half) - 1, 0)
    within = places - (exponents << half)
    size = np.int64(1) << (exponents + unit)
    return Counts(within * size + size - 1, counts)


def _places(raw: NDArray[np.uint8]) -> tuple[Integers, Integers]:
    """Places with a count, ascending, and the counts."""
    nothing: Integers = np.empty(0, np.int64)
    if not raw.size:
        return nothing, nothing
    ends = np.flatnonzero(raw < 0x80)
    if not ends.size or ends[-1] != raw.size - 1:
        raise ValueError("its last number is incomplete")
    begins = np.concatenate(([0], ends[:-1] + 1))
    lengths = ends - begins + 1
    if lengths.max() > _LONGEST:
        raise ValueError("a count is too great")
    shifts = 7 * (np.arange(raw.size) - np.repeat(begins, lengths))
    words = np.add.reduceat((raw & 0x7F).astype(np.int64) << shifts, begins)
    numbers = (words >> 1) ^ -(words & 1)
    steps = np.where(numbers < 0, -numbers, 1)
    if steps.max() >= MOST_RECORDED // raw.size:
        raise ValueError("a run of places is too long")
    recorded = numbers > 0
    counts = numbers[recorded]
    if counts.sum(dtype=np.float64) >= MOST_RECORDED:
        raise ValueError("its counts are too great")
    return (np.cumsum(steps) - steps)[recorded], counts


def _room(half: int, unit: int, highest: int) -> int:
    """The number of places up to ``highest``: each power of two beyond the first takes a half."""
    first = (2 << half) << unit
    halves = 2
    while first <= highest:
        first <<= 1
        halves += 1
    return halves << half
