"""The truths of runs of the shipped studies ``calibration*``, each beside its figure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from culvert.journal.marks import CHECKS
from culvert.json_text import read_json
from culvert.proof.truth import POSSIBLE, Judged, judged_in
from culvert.report.labels import Labels

SCALES = {"calibration": "quick", "calibration-gateway": "quick", "calibration-leak": ""}
"""The shipped studies, with the edition that takes two minutes in all."""


class CalibrationVerdict(StrEnum):
    """What became of a truth."""

    RIGHT = "right"
    MISSED = "missed"
    """The figure is outside the margins: the machine or the instrument measures wrongly."""
    NOT_MEASURED = "not measured"
    """The trial does not count, for the reason that it states."""
    NEEDS_VPN = "needs a VPN"
    """No calibration study has the measurement: there is nothing to measure without a VPN."""


@dataclass(frozen=True)
class CalibrationRow:
    """One line of the table. ``judged`` is None without a figure; ``reason`` says why."""

    measurement: str
    cell: str
    link: str
    verdict: CalibrationVerdict
    judged: Judged | None = None
    reason: str = ""
    remedy: str = ""


def rows_of(trials: pl.DataFrame) -> Iterator[CalibrationRow]:
    """Those of one run, from its trials with their evidence, in the order of the measurements."""
    labels = Labels(trials)
    for trial in trials.sort("measurement", "condition", "parameters").iter_rows(named=True):
        cell = labels.cell(trial["condition"], trial["measurement"], trial["parameters"])
        names = (trial["measurement"], cell, trial["condition"])
        evidence = read_json(trial["evidence"])
        others = [
            check
            for check in evidence.get(CHECKS, ())
            if not check["passed"] and not check["name"].startswith(POSSIBLE)
        ]
        judged = [] if others else judged_in(evidence)
        for one in judged:
            right = CalibrationVerdict.RIGHT if one.right else CalibrationVerdict.MISSED
            yield CalibrationRow(*names, right, one)
        if not judged:
            missing = CalibrationVerdict.NOT_MEASURED
            reason, remedy = trial["reason"] or "it has no truth here", trial["remedy"] or ""
            yield CalibrationRow(*names, missing, None, reason, remedy)


def disturbed(rows: Collection[CalibrationRow]) -> list[str]:
    """The measurements of which a trial does not count, and none missed a truth."""

    def having(verdict: CalibrationVerdict) -> set[str]:
        return {row.measurement for row in rows if row.verdict is verdict}

    return sorted(having(CalibrationVerdict.NOT_MEASURED) - having(CalibrationVerdict.MISSED))


def elsewhere(kinds: Collection[str], rows: Collection[CalibrationRow]) -> list[CalibrationRow]:
    """One for each measurement that has none."""
    there = {row.measurement for row in rows}
    why = "without a VPN it has nothing to measure"
    verdict = CalibrationVerdict.NEEDS_VPN
    return [
        CalibrationRow(kind, kind, "", verdict, reason=why) for kind in kinds if kind not in there
    ]


def passed(rows: Collection[CalibrationRow]) -> bool:
    """Whether no truth was missed, and none was left out that could be measured."""
    good = (CalibrationVerdict.RIGHT, CalibrationVerdict.NEEDS_VPN)
    return all(row.verdict in good for row in rows)
