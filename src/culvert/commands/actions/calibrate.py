"""``culvert doctor --calibrate``: the calibration studies, and their truths beside the figures."""

from __future__ import annotations

from culvert.calibration.rows import SCALES, CalibrationRow, elsewhere, rows_of
from culvert.commands.actions.run_study import measure
from culvert.journal.journal import Journal
from culvert.labs.registry import DEFAULT, lab_kind
from culvert.run.request import RunRequest
from culvert.study.catalogue import installed_measurements


def calibrate(*, as_json: bool) -> list[CalibrationRow]:
    """Run each study in a new directory, and judge what each trial found."""
    rows: list[CalibrationRow] = []
    for study, scale in SCALES.items():
        request = RunRequest(
            study, None, resume=False, lab=lab_kind(DEFAULT)({}), only=(), scale=scale
        )
        ran = measure(request, as_json=as_json)
        with Journal.open(ran.directory) as journal:
            rows += rows_of(journal.trials())
    return rows + elsewhere(installed_measurements(), rows)
