"""How a run's trials were made, as far as it limits what their figures say: days, early ends."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from culvert.plan.stopping import StopReason
from culvert.report.model import Data
from culvert.report.run_info import moment
from culvert.report.sentences import blocks

OWN_DAY = "each configuration had its own day: no statistics can tell one from the other"

_NARROW = "trials that scatter little by chance end a run early, so their scatter leans low"
_BIASED = {
    StopReason.CLAIMS: "differences that decided a claim lean away from none",
    StopReason.PRECISE: _NARROW,
    StopReason.SETTLED: _NARROW,
}
"""What stopping does to estimates. Their intervals allow for the looks; the estimates do not."""


def days_apart(data: Data) -> bool:
    """Whether an import's VPNs were measured on days of their own, as far as it is known."""
    if not data.run.imported:
        return False
    if data.foreign:
        return True  # the authors' own files have the dates of the data that a paper's tables know
    days: dict[str, set[str]] = {}
    for vpn, text in data.trials.select("vpn", "started_at").drop_nulls().iter_rows():
        when = moment(text)
        if when is None or when.timestamp() == 0:
            return False
        days.setdefault(vpn, set()).add(when.date().isoformat())
    return len(days) > 1 and all(not one & other for one, other in combinations(days.values(), 2))


def stopped_early(data: Data) -> str:
    """What the rule that ended the run did to its estimates; empty where none did."""
    try:
        reason = StopReason(data.run.stopped)
    except ValueError:
        return ""
    looks = data.columns.design.looks
    n = data.trials.filter(pl.col("status") == "ok")["block"].n_unique()
    if reason not in _BIASED or not looks.first or n == looks.last:
        return ""
    most = f" of at most {looks.last}" if looks.last else ""
    return f"its rule ended the run after {blocks(n)}{most}: {_BIASED[reason]}"
