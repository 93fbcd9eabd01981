"""The truths of runs of the shipped studies ``calibration*``, each beside its figure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from culvert.journal.marks import CHECKS, Disturber, marks_of
from culvert.json_text import read_json
from culvert.measurements.underlay.underlay import Underlay
from culvert.proof.truth import POSSIBLE, Judged, judged_in
from culvert.report.labels import Labels
from culvert.report.views.surroundings import cause

SCALES = {"calibration": "quick", "calibration-gateway": "quick", "calibration-leak": ""}
"""The shipped studies, with the edition that takes two minutes in all."""

QUIET = "stop the other programs of this machine, and repeat"


class CalibrationVerdict(StrEnum):
    """What became of a truth."""

    RIGHT = "right"
    MISSED = "missed"
    """The figure is outside the margins: the machine or the instrument measures wrongly."""
    NOT_MEASURED = "not measured"
    """The trial does not count, or was disturbed and the figure may be the disturbance's: the
    reason says what disturbed."""
    NEEDS_VPN = "needs a VPN"
    """No calibration study has the measurement: there is nothing to measure without a VPN."""


@dataclass(frozen=True)
class CalibrationRow:
    """One line of the table. ``judged`` is None without a figure; ``reason`` says why there is
    none, or why it does not count."""

    measurement: str
    cell: str
    link: str
    verdict: CalibrationVerdict
    judged: Judged | None = None
    reason: str = ""
    remedy: str = ""


def rows_of(trials: pl.DataFrame) -> Iterator[CalibrationRow]:
    """Those of one run, from its trials with their evidence, in the order of the measurements. Of a
    link that was verified several times the last verification counts."""
    labels = Labels(trials)
    cells = ("measurement", "condition", "parameters")
    last = trials.sort("started_at").unique(cells, keep="last")
    for trial in last.sort(cells).iter_rows(named=True):
        cell = labels.cell(trial["condition"], trial["measurement"], trial["parameters"])
        names = (trial["measurement"], cell, trial["condition"])
        evidence = read_json(trial["evidence"])
        disturbers = _disturbers(evidence)
        others = [
            check
            for check in evidence.get(CHECKS, ())
            if not check["passed"] and not check["name"].startswith(POSSIBLE)
        ]
        judged = [] if others else judged_in(evidence)
        for one in judged:
            if one.right:
                yield CalibrationRow(*names, CalibrationVerdict.RIGHT, one)
            elif disturbers and not one.impossible:
                missing = CalibrationVerdict.NOT_MEASURED
                yield CalibrationRow(*names, missing, one, f"disturbed: {disturbers}", QUIET)
            else:
                yield CalibrationRow(*names, CalibrationVerdict.MISSED, one)
        if not judged:
            missing = CalibrationVerdict.NOT_MEASURED
            reason, remedy = trial["reason"] or "it has no truth here", trial["remedy"] or ""
            beside = f" (disturbed: {disturbers})" if disturbers else ""
            yield CalibrationRow(*names, missing, None, f"{reason}{beside}", remedy)


def _disturbers(evidence: Mapping[str, Any]) -> str:
    """What disturbed a trial, in words; empty if nothing did."""
    most: dict[Disturber, float] = {}
    for mark in marks_of(evidence):
        most[mark.by] = max(mark.value, most.get(mark.by, 0.0))
    return ", ".join(cause(by, value) for by, value in most.items())


def disturbed(rows: Collection[CalibrationRow]) -> list[str]:
    """The measurements of which a trial does not count, and none missed a truth. Links are not
    among them: a run verifies each by itself, several times if need be."""

    def having(verdict: CalibrationVerdict) -> set[str]:
        return {row.measurement for row in rows if row.verdict is verdict}

    missed = having(CalibrationVerdict.MISSED)
    return sorted(having(CalibrationVerdict.NOT_MEASURED) - missed - {Underlay.kind})


def renewed(
    rows: Collection[CalibrationRow], more: Collection[CalibrationRow]
) -> list[CalibrationRow]:
    """Those of a run, and instead of what does not count there what was measured once more."""
    again = {*disturbed(rows), Underlay.kind}
    later = [row for row in more if row.measurement in again]
    replaced = {(row.measurement, row.link) for row in later}
    return [row for row in rows if (row.measurement, row.link) not in replaced] + later


def elsewhere(kinds: Collection[str], rows: Collection[CalibrationRow]) -> list[CalibrationRow]:
    """One for each measurement that has none."""
    there = {row.measurement for row in rows}
    why = "without a VPN there is nothing to measure"
    verdict = CalibrationVerdict.NEEDS_VPN
    return [
        CalibrationRow(kind, kind, "", verdict, reason=why) for kind in kinds if kind not in there
    ]


def passed(rows: Collection[CalibrationRow]) -> bool:
    """Whether no truth was missed, and none was left out that could be measured."""
    good = (CalibrationVerdict.RIGHT, CalibrationVerdict.NEEDS_VPN)
    return all(row.verdict in good for row in rows)
