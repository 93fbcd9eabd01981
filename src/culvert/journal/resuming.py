"""Whether a journal can be continued: it must be of the same study, scale and lab."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from culvert.errors import UsageError
from culvert.journal.codec import from_json
from culvert.journal.differences import differences
from culvert.journal.record import RunHead


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
