"""Whether a journal can be continued: it must be of the same study, scale and lab; if not, the
differences, short enough for an error message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from culvert.errors import UsageError
from culvert.journal.codec import from_json
from culvert.journal.record import RunHead
from culvert.json_text import read_json


def refuse_other(directory: Path, run: Mapping[str, Any], head: RunHead) -> None:
    """Raise UsageError if the run of a journal (``Journal.run``) is not the one of the head."""
    if run["digest"] != head.digest:
        _refuse_other_scale(directory, run["canonical"], head.canonical)
        found = differences(run["canonical"], head.canonical)
        raise UsageError(
            str(directory),
            f'its study "{run["study"]}" is not the one given: {found}',
            "give the original study (the journal contains it), or choose another --out",
        )
    if run["lab"] != head.lab:
        raise UsageError(
            str(directory),
            f"it was measured in the lab {run['lab']}, not {head.lab}",
            f"add --lab {run['lab']}, or choose another --out",
        )


def _refuse_other_scale(directory: Path, was: str, now: str) -> None:
    """The most common difference, the scale, has its own remedy."""
    scales = [from_json(canonical).get("scale", "") for canonical in (was, now)]
    if scales[0] != scales[1]:
        had, has = (f"at the scale {scale}" if scale else "as a whole" for scale in scales)
        raise UsageError(
            str(directory),
            f"its study was measured {had}, not {has}",
            f"add --scale {scales[0]}" if scales[0] else "leave out --scale",
        )


_SHOWN = 3


def differences(before: str, now: str) -> str:
    """The first few differences between two canonical contents, as "plan.seed: 1, now 2"."""
    found = list(_walk(read_json(before), read_json(now), ""))
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
