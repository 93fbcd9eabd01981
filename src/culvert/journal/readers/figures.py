"""Figures in imported data: parsing numbers and times, and bounds of possible values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

MOST_BPS = 1e14
"""100 Tbit/s: no host sends more."""
MOST_S = 86_400.0
"""A day: no round trip and no request takes longer."""

_PERCENTILES = (50, 90, 99)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def percentiles(times: Sequence[float]) -> dict[int, float]:
    """The median, and the percentiles beyond which one of the times can lie."""
    shown = [one for one in _PERCENTILES if one == 50 or len(times) * (100 - one) >= 100]
    return dict(zip(shown, np.percentile(times, shown).tolist(), strict=True))


def figure(value: object) -> float | None:
    """A JSON value as a number; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def figure_in(text: str) -> float | None:
    """A text as a number; None if it is not one ("", "nan", "1_000", "1e999")."""
    text = text.strip()
    if len(text) > 64 or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def doubt(name: str, value: float, low: float, high: float, unit: str) -> str:
    """Why a value is impossible; empty if it is possible. Both bounds are possible values."""
    if low <= value <= high:
        return ""
    bound = f"less than {low:g}" if value < low else f"more than {high:g}"
    return f"{name} is {value:g} {unit}, which is {bound}: impossible"


def table(value: Any, key: str) -> Mapping[str, Any]:
    """A JSON object in another; empty if there is none."""
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def moment(text: object) -> datetime | None:
    """An ISO 8601 time, in UTC if it has no zone; None if it is not one."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moment_of(seconds: float | None) -> datetime | None:
    """A time in seconds since 1970; None if it is not possible."""
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, OSError, ValueError):
        return None
