"""From imported runs to trials: ids, conditions, and the number of each run in its cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from culvert.journal.readers.foreign_run import CLEAN, REMEDY, UNSTATED, ForeignRun
from culvert.journal.readers.reading import natural
from culvert.journal.record import TrialRecord
from culvert.plan.plan import Cell
from culvert.results import Parameters, Status

UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""The start time of a run without a recorded one."""

Number = Callable[[ForeignRun, int, int], int]
"""The block of the nth run (from 1) of a cell with so many runs, in the order of the data."""


def as_found(_run: ForeignRun, nth: int, _of: int) -> int:
    """Block n for the nth run."""
    return nth


def in_order(runs: Sequence[ForeignRun]) -> tuple[list[ForeignRun], bool]:
    """The runs in the order of time, and whether it is known; else in the order of the data."""
    if not runs or any(run.started_at is None for run in runs):
        return list(runs), False
    return sorted(runs, key=lambda run: run.started_at or UNKNOWN_TIME), True


def trial_records(
    runs: Sequence[ForeignRun],
    ids: Mapping[str, str],
    condition: str,
    number: Number = as_found,
) -> list[TrialRecord]:
    """A trial for each run. ``condition`` is that of runs whose data does not state one.

    The nth run of a cell is in block n: imported data has no blocks, so runs with the same number
    were not measured together. ``number`` returns another number if it is known.
    """
    cells = [
        Cell(
            ids[run.name],
            run.condition or condition or UNSTATED,
            run.measurement,
            Parameters.of(run.parameters),
        )
        for run in runs
    ]
    of = Counter(cells)
    seen: Counter[Cell] = Counter()
    numbered = []
    for run, cell in zip(runs, cells, strict=True):
        seen[cell] += 1
        numbered.append((number(run, seen[cell], of[cell]), run, cell))
    # Within a block by condition, the clean one first: reports use this order.
    numbered.sort(key=lambda one: (one[0], *_rank(one[2].condition)))
    positions: Counter[int] = Counter()
    found = []
    for block, run, cell in numbered:
        positions[block] += 1
        found.append(_record(run, cell, block, positions[block]))
    return found


def _rank(condition: str) -> tuple[bool, list[tuple[int, str]]]:
    return condition != CLEAN, natural(condition)


def _record(run: ForeignRun, cell: Cell, block: int, position: int) -> TrialRecord:
    source = {"file": run.file, "line": run.line, "name": run.name}
    return TrialRecord(
        block=block,
        position=position,
        cell_key=cell.key,
        vpn=cell.vpn,
        condition=cell.condition,
        measurement=cell.measurement,
        parameters=cell.parameters,
        status=run.status,
        reason=run.reason,
        remedy="" if run.status is Status.OK else REMEDY,
        started_at=run.started_at or UNKNOWN_TIME,
        duration_s=run.duration_s,
        measuring_s=run.duration_s,
        evidence={"imported": source | dict(run.reported)},
        metrics=run.metrics,
        series=run.series,
        histograms=run.histograms,
    )
