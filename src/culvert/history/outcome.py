"""The history of the runs in directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.analysis.declared import compared_metrics
from culvert.compare.outcome import only_rows
from culvert.errors import UsageError
from culvert.history.order import Order
from culvert.history.places import LeftOut, places
from culvert.history.series import Series, series_of
from culvert.history.store import summaries
from culvert.study.table import near


@dataclass(frozen=True)
class History:
    """``runs``: how many were read."""

    series: tuple[Series, ...]
    runs: int
    unread: tuple[LeftOut, ...]
    order: Order


def history(
    directories: Sequence[Path],
    *,
    study: str | None = None,
    metrics: Sequence[str] = (),
    only: Sequence[str] = (),
    order: Order = Order.TIME,
) -> History:
    """The series of all runs at or below the directories. ``metrics``: names or patterns; empty for
    the main metrics. Raises UsageError."""
    found, unread = summaries(places(directories), metrics or compared_metrics())
    runs = found.runs.unique("identity", keep="first", maintain_order=True)
    if metrics and found.cells.is_empty():
        raise UsageError(
            f"--metrics {','.join(metrics)}",
            "no run has such a metric",
            near(metrics[0], compared_metrics()),
        )
    if study is not None:
        runs = runs.filter(study=study)
        if runs.is_empty():
            known = found.runs["study"].unique().sort().to_list()
            raise UsageError(f'study "{study}"', "no run belongs to it", near(study, known))
    cells = only_rows(found.cells, only)
    if only and cells.is_empty():
        raise UsageError(
            f"--only {' '.join(only)}",
            "it matches no VPN, condition or measurement",
            "see 'culvert history' without it",
        )
    return History(tuple(series_of(runs, cells, order)), len(runs), tuple(unread), order)
