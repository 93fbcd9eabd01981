"""``culvert doctor --calibrate``: which rows it shows of what its studies measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from culvert.calibration.rows import CalibrationRow, CalibrationVerdict
from culvert.commands.actions import calibrate

Row = tuple[str, CalibrationVerdict]
RIGHT, MISSED = CalibrationVerdict.RIGHT, CalibrationVerdict.MISSED
DISTURBED = CalibrationVerdict.NOT_MEASURED


def calibrated(monkeypatch: pytest.MonkeyPatch, *runs: list[Row]) -> list[Row]:
    """With one study whose runs, one after the other, find these rows."""
    asked: list[Sequence[str]] = []

    def measured(study: str, only: Sequence[str], *, as_json: bool) -> list[CalibrationRow]:
        asked.append(only)
        return [CalibrationRow(kind, kind, "", verdict) for kind, verdict in runs[len(asked) - 1]]

    monkeypatch.setattr(calibrate, "SCALES", {"calibration": "quick"})
    monkeypatch.setattr(calibrate, "_measured", measured)
    rows = calibrate.calibrate(as_json=True)
    assert len(asked) == len(runs)
    assert asked[1:] == [["tcp"]] * (len(runs) - 1)
    return [
        (row.measurement, row.verdict)
        for row in rows
        if row.verdict is not CalibrationVerdict.NEEDS_VPN
    ]


def test_what_was_disturbed_is_measured_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    first: list[Row] = [("rtt", RIGHT), ("tcp", DISTURBED), ("tcp", RIGHT)]
    second: list[Row] = [("tcp", RIGHT), ("tcp", RIGHT), ("underlay", RIGHT)]
    found = calibrated(monkeypatch, first, second)
    assert found == [("rtt", RIGHT), *second]


def test_a_miss_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    missed: list[Row] = [("tcp", DISTURBED), ("tcp", MISSED)]
    assert calibrated(monkeypatch, missed) == missed
