"""``culvert doctor --calibrate``: the calibration studies, and their truths beside the figures."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.calibration.rows import SCALES, CalibrationRow, disturbed, elsewhere, renewed, rows_of
from culvert.commands.actions.run_study import measure
from culvert.journal.journal import Journal
from culvert.labs.registry import DEFAULT, lab_kind
from culvert.run.request import RunRequest
from culvert.study.catalogue import installed_measurements


def calibrate(*, as_json: bool) -> list[CalibrationRow]:
    """Run each study in a new directory, and judge what each trial found. Measurements of which a
    trial was disturbed are measured once more."""
    rows: list[CalibrationRow] = []
    for study in SCALES:
        found = _measured(study, (), as_json=as_json)
        if again := disturbed(found):
            found = renewed(found, _measured(study, again, as_json=as_json))
        rows += found
    return rows + elsewhere(installed_measurements(), rows)


def _measured(study: str, only: Sequence[str], *, as_json: bool) -> list[CalibrationRow]:
    kind = lab_kind(DEFAULT)({})
    request = RunRequest(study, None, resume=False, lab=kind, only=only, scale=SCALES[study])
    ran = measure(request, as_json=as_json)
    with Journal.open(ran.directory) as journal:
        return list(rows_of(journal.trials()))
