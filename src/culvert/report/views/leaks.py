"""Leaks by VPN and phase: a matrix for each condition and set of other parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import polars as pl

from culvert.report.model import Data
from culvert.report.views.matrix import Cell, Matrices, Matrix, counted, no_result, time_text
from culvert.results.parameters import Parameters
from culvert.study.vpn_id import BASELINE, bare
from culvert.units import plural

MEASUREMENT = "leak"
_PHASE = "phase"
_PHASES = ("up", "run", "kill", "stop", "reconnect", "roam", "link", "resolver", "suspend")
"""In the order of the columns; others come after them."""
_OK = "ok"
_BARE = "{}"
_MISSED = 0.05
"""Probability with which a leak of the stated share of trials is in none of them."""


class Tightness(StrEnum):
    """The result of a cell."""

    NOTHING = "nothing"
    LEAKS = "leaks"
    UNSUPPORTED = "unsupported"
    NO_RESULT = "no result"


NONE = Matrices(
    "leaks",
    "Leaks",
    "What leaves the client beside its tunnel",
    "Rows: VPNs. Columns: what happened to the tunnel. A cell has the packets that the provider's "
    "router saw in clear after the event, by kind, and when the first and the last of them came, "
    "in the trial with the most. Packets that wait, or that the kernel refuses, do not count.",
    {
        Tightness.NOTHING: "no packet left beside the tunnel",
        Tightness.LEAKS: "packets left beside the tunnel: the trial with the most of them",
        Tightness.UNSUPPORTED: "this VPN has no such phase here; the reason is in the cell's text",
        Tightness.NO_RESULT: "no trial counts",
    },
)
"""Of a run that did not look for leaks."""


def leak_matrices(data: Data) -> Matrices:
    """One for each condition and set of other parameters."""
    trials = data.trials.filter(pl.col("measurement") == MEASUREMENT)
    rows = data.rows.filter(pl.col("measurement") == MEASUREMENT, pl.col("status") == _OK)
    cells = trials.select("condition", "parameters").unique(maintain_order=True).rows()
    groups = dict.fromkeys((name, Parameters(each).without({_PHASE})) for name, each in cells)
    several = len(groups) > 1
    found = tuple(
        _matrix(
            data,
            _of(trials, condition, others),
            _of(rows, condition, others),
            data.labels.cell(condition, MEASUREMENT, others) if several else "",
        )
        for condition, others in groups
    )
    return replace(NONE, matrices=found, conditions=frozenset(name for name, _ in groups))


def leaking_trials(data: Data) -> int:
    """The trials of VPNs that count and in which packets left beside the tunnel."""
    leaking = pl.col("value") > 0, pl.col("vpn") != BASELINE
    return _totals(data).filter(*leaking)["trial"].n_unique()


def missed(data: Data) -> str:
    """What "no packet left" may have missed in so few trials; empty where each cell leaks.

    A leak in a share p of trials is in none of n with (1 - p)^n.
    """
    cells = _totals(data).group_by("vpn", "condition", "parameters")
    found = cells.agg(pl.col("value").max(), pl.len().alias("trials"))
    fewest = found.filter(pl.col("value") == 0)["trials"].min()
    if not isinstance(fewest, int):
        return ""
    percent = math.ceil(100 * (1 - _MISSED ** (1 / fewest)))
    return (
        f'"No packet left" is the result of {plural(fewest, "trial")} of each phase: a leak in '
        f"{percent} % of such trials would be seen with a probability of 95 %."
    )


def _totals(data: Data) -> pl.DataFrame:
    """The leaked packets of each trial that counts."""
    return data.rows.filter(
        measurement=MEASUREMENT, status=_OK, metric="leaked_packets", labels=_BARE
    )


def _of(frame: pl.DataFrame, condition: str, others: str) -> pl.DataFrame:
    """What is of one condition and one set of parameters, whatever the phase, with the phase."""
    parameters = frame["parameters"].to_list()
    return frame.with_columns(
        pl.Series("others", [Parameters(each).without({_PHASE}) for each in parameters], pl.String),
        pl.Series(_PHASE, [str(Parameters(each).get(_PHASE)) for each in parameters], pl.String),
    ).filter(pl.col("condition") == condition, pl.col("others") == others)


def _matrix(data: Data, trials: pl.DataFrame, rows: pl.DataFrame, title: str) -> Matrix:
    present = trials[_PHASE].unique(maintain_order=True).to_list()
    phases = sorted(present, key=lambda each: (*_PHASES, each).index(each))
    there = set(trials["vpn"].to_list())
    vpns = sorted((vpn for vpn in data.vpns if vpn in there), key=bare)
    made = tuple(
        tuple(
            _cell(
                trials.filter(pl.col("vpn") == vpn, pl.col(_PHASE) == phase),
                rows.filter(pl.col("vpn") == vpn, pl.col(_PHASE) == phase),
            )
            for phase in phases
        )
        for vpn in vpns
    )
    outcomes = [cell.outcome for row in made for cell in row if cell]
    sentence = f"{counted(outcomes, Tightness)} pairs of VPN and phase"
    return Matrix(title, tuple(vpns), tuple(phases), made, sentence)


def _cell(trials: pl.DataFrame, rows: pl.DataFrame) -> Cell | None:
    if trials.is_empty():
        return None
    totals = rows.filter(pl.col("metric") == "leaked_packets", pl.col("labels") == _BARE)
    if totals.is_empty():
        if (trials["status"] == "unsupported").all():
            return no_result(Tightness.UNSUPPORTED, trials, statuses=False)
        return no_result(Tightness.NO_RESULT, trials)
    worst = totals.sort("value", descending=True).row(0, named=True)
    packets, count = round(worst["value"]), totals.height
    tried = f"in {plural(count, 'trial')}"
    of_worst = rows.filter(pl.col("trial") == worst["trial"])
    messages = round(_sum(of_worst, "attempted_messages"))
    if not packets:
        note = f"0 packets leaked {tried}, of at least {messages} messages"
        return Cell(Tightness.NOTHING, Tightness.NOTHING, (), note)
    kinds = [f"{kind} {number}" for kind, number in _by_kind(of_worst)]
    times = [time_text(_sum(of_worst, name, _BARE)) for name in ("first_leak_ms", "last_leak_ms")]
    when = f"{times[0]} to {times[1]}"
    head = plural(packets, "packet")
    note = f"{head} {tried}: {', '.join(kinds)}; {when} from the event"
    return Cell(Tightness.LEAKS, head, (", ".join(kinds), when), note)


def _by_kind(rows: pl.DataFrame) -> Sequence[tuple[str, int]]:
    leaked = rows.filter(
        pl.col("metric") == "leaked_packets", pl.col("labels") != _BARE, pl.col("value") > 0
    )
    found = zip(leaked["labels"].to_list(), leaked["value"].to_list(), strict=True)
    return [(str(Parameters(labels).get("kind")), round(value)) for labels, value in found]


def _sum(rows: pl.DataFrame, metric: str, labels: str | None = None) -> float:
    here = rows.filter(pl.col("metric") == metric)
    if labels is not None:
        here = here.filter(pl.col("labels") == labels)
    return float(here["value"].sum())
