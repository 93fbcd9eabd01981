"""Encoding of values into columns, and decoding."""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json as _parsed

from culvert.results import MOST_FIGURE


def json_text(value: object) -> str:
    """Compact JSON with sorted keys. NaN becomes null, and a lone surrogate a
    question mark, because JSON and UTF-8 cannot represent them."""
    return json.dumps(_writable(value), sort_keys=True, separators=(",", ":"), default=str)


def _writable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {str(_writable(str(key))): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return value


def pack_int64(values: Sequence[int]) -> bytes:
    """Little-endian int64, zlib."""
    return zlib.compress(np.asarray(values, dtype="<i8").tobytes())


def pack_float64(values: Sequence[float]) -> bytes:
    """Little-endian IEEE 754 binary64, zlib."""
    return zlib.compress(np.asarray(values, dtype="<f8").tobytes())


def inflated(blob: bytes, most: int) -> bytes:
    """What zlib packed. Raises ValueError, also if it has more than ``most`` bytes."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(blob, max(most, 1))  # 0 is no limit
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if unpacker.unconsumed_tail:
        raise ValueError("it is too large when unpacked")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it is cut off")
    return content


def points(times: bytes, values: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The times and the values of a series, from what was packed. Raises ValueError for none."""
    t_ns = np.frombuffer(times, dtype="<i8").astype(np.int64)
    found = np.frombuffer(values, dtype="<f8").astype(np.float64)
    if len(t_ns) != len(found):
        raise ValueError(f"{len(found)} values for {len(t_ns)} times")
    if not (abs(found) <= MOST_FIGURE).all():
        raise ValueError(f"a value is not a number up to {MOST_FIGURE:g}")
    return t_ns, found


def fingerprint(values: tuple[str | int, ...]) -> str:
    """The same 32 digits for the same values, on every machine."""
    return hashlib.blake2b(repr((values,)).encode("utf-8", "replace"), digest_size=16).hexdigest()


def utc_text(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds, so that text sorts as time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def now_text() -> str:
    """The present time as ``utc_text``."""
    return utc_text(datetime.now(UTC))


def from_json(text: str) -> Any:
    """The value of a JSON column. Raises ValueError for content that no column may have: too deep
    nesting, numbers that JSON does not allow."""
    return _parsed(text, allow_inf_nan=False, cache_strings="none")
