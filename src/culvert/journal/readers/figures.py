"""Figures in foreign data: what is a number at all, and what no network can have measured."""

from __future__ import annotations

import math
import re

MOST_BPS = 1e14
"""100 Tbit/s: no host sends more."""
MOST_S = 86_400.0
"""A day: no round trip and no request takes longer."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def figure(value: object) -> float | None:
    """The number that a JSON value is; None for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def figure_in(text: str) -> float | None:
    """The number that a text is; None for what is none ("", "nan", "1_000", "1e999")."""
    text = text.strip()
    if len(text) > 64 or not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def doubt(name: str, value: float, low: float, high: float, unit: str) -> str:
    """Why a value is impossible; empty for one that is possible. Both ends are allowed."""
    if low <= value <= high:
        return ""
    bound = f"less than {low:g}" if value < low else f"more than {high:g}"
    return f"{name} is {value:g} {unit}, which is {bound}: impossible"
