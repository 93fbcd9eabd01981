"""``culvert import``: what it prints."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from culvert.console import out, print_json
from culvert.journal.readers.foreign_run import Lost
from culvert.results import Status
from culvert.run.importing import Imported
from culvert.units import plural

MOST_TOLD = 12
"""Number of losses that are printed; the journal has more."""


def show(done: Imported, *, as_json: bool) -> None:
    """Print the number of imported runs, the losses and their places, and the next command."""
    counts = Counter(str(trial.status) for trial in done.trials)
    reasons = Counter(
        (trial.vpn, trial.status, trial.reason)
        for trial in done.trials
        if trial.status is not Status.OK
    )
    if as_json:
        print_json(_as_json(done, counts))
        return
    for note in done.notes:
        out.print(note, style="dim", markup=False)
    for (vpn, status, reason), count in reasons.most_common(MOST_TOLD):
        out.print(f"{vpn}: {count} {status}: {reason}", markup=False, style="yellow")
    if len(reasons) > MOST_TOLD:
        out.print(f"... and {len(reasons) - MOST_TOLD} more reasons: see the report")
    for one in done.lost[:MOST_TOLD]:
        out.print(f"lost: {one}", markup=False, style="red")
    if len(done.lost) > MOST_TOLD:
        out.print(f"... and {len(done.lost) - MOST_TOLD} more places")
    statuses = ", ".join(
        f"{counts[str(status)]} {status}" for status in Status if counts[str(status)]
    )
    runs = plural(len(done.trials), "run")
    out.print(f"{runs} imported: {statuses}; lost: {_lost(done.lost)}")
    for name in done.tables:
        out.print(f"table: {done.directory / 'tables' / name}.csv", markup=False, soft_wrap=True)
    where = shlex.quote(str(done.directory))
    out.print(f"journal: {done.directory}   next: culvert report {where}", markup=False)


def _lost(lost: Sequence[Lost]) -> str:
    places = sum(one.count for one in lost)
    files = len({one.file for one in lost})
    return f"{plural(places, 'place')} in {plural(files, 'file')}" if places else "nothing"


def _as_json(done: Imported, counts: Counter[str]) -> dict[str, Any]:
    return {
        "directory": str(done.directory),
        "trials": {str(status): counts[str(status)] for status in Status},
        "lost": [asdict(one) for one in done.lost],
        "notes": list(done.notes),
        "tables": [f"tables/{name}.csv" for name in done.tables],
    }
