"""How a run's trials were made, as far as it limits the conclusions: days, early stopping."""

from __future__ import annotations

from itertools import combinations

import polars as pl

from culvert.plan.stopping import StopReason
from culvert.report.model import Data
from culvert.report.run_info import moment
from culvert.report.sentences import blocks

OWN_DAY = "each configuration had its own day: statistics cannot separate the two effects"

_NARROW = "runs end early if trials scatter little by chance, so the scatter is underestimated"
_BIASED = {
    StopReason.CLAIMS: "differences that decided a claim are overestimated",
    StopReason.PRECISE: _NARROW,
    StopReason.SETTLED: _NARROW,
}
"""The bias of estimates after early stopping; only their intervals allow for the looks."""


def days_apart(data: Data) -> bool:
    """Whether each VPN of an import was measured on its own days, as far as the dates are known."""
    if not data.run.imported:
        return False
    if data.foreign:
        return True  # the authors' own files have the dates of the data in a paper's tables
    days: dict[str, set[str]] = {}
    for vpn, text in data.trials.select("vpn", "started_at").drop_nulls().iter_rows():
        when = moment(text)
        if when is None or when.timestamp() == 0:
            return False
        days.setdefault(vpn, set()).add(when.date().isoformat())
    return len(days) > 1 and all(not one & other for one, other in combinations(days.values(), 2))


def stopped_early(data: Data) -> str:
    """The bias from the rule that ended the run; empty if no rule ended it."""
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
