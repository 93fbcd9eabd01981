"""The differences between two studies, short enough for an error message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_SHOWN = 3


def differences(before: str, now: str) -> str:
    """The first few differences between two canonical contents, as "plan.seed: 1, now 2"."""
    found = list(_walk(json.loads(before), json.loads(now), ""))
    text = "; ".join(found[:_SHOWN])
    more = len(found) - _SHOWN
    return f"{text}; and {more} more" if more > 0 else text


def _walk(before: Any, now: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            below = f"{path}.{key}" if path else key
            yield from _walk(before.get(key), now.get(key), below)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _walk(old, new, f"{path}[{index}]")
    elif before != now:
        yield f"{path}: {_short(before)}, now {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."
