"""The list of trials in the page, and the limits of its length."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl

from culvert.journal.marks import CHECKS, checks_of
from culvert.report.labels import everything
from culvert.report.leaves import evidence
from culvert.report.model import MOST_EVIDENCE, Data
from culvert.report.numbers import duration, grouped

MOST_TRIALS = 5000
"""So many trials are listed (preferring those that do not count); tables/trials.csv has all."""
_ELSEWHERE = frozenset({"proved", "underlay", "vpn", "imported"})
"""Parts of the evidence that are not checks: the environment section shows them."""


@dataclass(frozen=True)
class CheckView:
    """One line of a trial's evidence."""

    name: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class TrialView:
    """One trial as a row."""

    number: int
    block: str
    vpn: str
    colour: str
    cell: str
    parameters: str
    status: str
    reason: str
    remedy: str
    seconds: str
    checks: tuple[CheckView, ...]

    @property
    def passed(self) -> int:
        return sum(check.passed for check in self.checks)


@dataclass(frozen=True)
class TrialList:
    """The listed trials, and a sentence on those left out (empty if all are listed)."""

    trials: tuple[TrialView, ...]
    total: int
    left_out: str


def trial_list(data: Data) -> TrialList:
    """Trials in order of time; trials that count are left out first."""
    frame, total = data.every_trial, data.every_trial.height
    if total > MOST_TRIALS:
        rank = (frame["status"] == "ok").cast(int)
        frame = frame.with_columns(rank.alias("rank")).sort("rank", "trial").head(MOST_TRIALS)
        frame = frame.sort("trial")
    views = tuple(_views(data, frame))
    return TrialList(views, total, _left_out(frame, total))


def _left_out(frame: pl.DataFrame, total: int) -> str:
    parts = []
    if frame.height < total:
        parts.append(
            f"Of {grouped(total, 0)} trials {grouped(frame.height, 0)} are listed, those that do "
            "not count before all others; the whole list is in tables/trials.csv."
        )
    late = frame.slice(MOST_EVIDENCE).filter(pl.col("status") == "ok").height
    if late:
        parts.append(
            f"{grouped(late, 0)} later trials that count are listed without their evidence, which "
            "is in the journal."
        )
    return " ".join(parts)


def _views(data: Data, frame: pl.DataFrame) -> list[TrialView]:
    views = []
    for index, row in enumerate(frame.iter_rows(named=True)):
        shown = row["status"] != "ok" or index < MOST_EVIDENCE
        views.append(
            TrialView(
                number=row["trial"],
                block=str(row["block"]) if row["block"] > 0 else "warm-up",
                vpn=row["vpn"],
                colour=data.colours.get(row["vpn"], "#888888"),
                cell=data.labels.cell(row["condition"], row["measurement"], row["parameters"]),
                parameters=everything(row["measurement"], row["parameters"]),
                status=row["status"],
                reason=row["reason"],
                remedy=row["remedy"],
                seconds=duration(row["duration_s"]),
                checks=tuple(_checks(row["evidence"])) if shown else (),
            )
        )
    return views


def _checks(text: str) -> list[CheckView]:
    """The checks of the proof; other parts of the evidence are shown unchanged."""
    found = evidence(text)
    views = []
    for key, value in found.items():
        if key in _ELSEWHERE:
            continue
        if key == CHECKS:
            views += [
                CheckView(
                    str(check.get("name", "")),
                    bool(check.get("passed")),
                    str(check.get("detail", "")),
                )
                for check in checks_of(found)
            ]
        else:
            views.append(CheckView(str(key), True, json.dumps(value, ensure_ascii=False)))
    return views
