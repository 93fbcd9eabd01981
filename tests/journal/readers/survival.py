"""What an importer must do with any file at all: import it, or refuse it in words."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from culvert.errors import CulvertError
from culvert.journal.journal import Journal
from culvert.journal.papers.kjorveziroski2024.published import published_tables
from culvert.journal.readers.foreign_run import Found
from culvert.journal.readers.formats import ForeignFormat, reader
from culvert.journal.readers.naming import Naming
from culvert.journal.readers.records import trial_records
from culvert.results import Status
from culvert.run.importing import ImportRequest, import_files


def read_any(form: ForeignFormat, path: Path) -> Found:
    """Read a file; whatever it holds, what comes out is fit for a journal."""
    found = reader(form)(path)
    names = Naming().resolve(run.name for run in found.runs)
    trials = trial_records(found.runs, names, "")
    assert len(trials) == len(found.runs)
    assert len({(trial.block, trial.cell_key) for trial in trials}) == len(trials)
    for trial in trials:
        assert (trial.status is Status.OK) == (not trial.reason)
        assert all(math.isfinite(metric.value) for metric in trial.metrics)
        assert trial.status is not Status.OK or trial.metrics or trial.measurement == "idle"
    assert all(lost.line >= 0 and lost.why for lost in found.lost)
    return found


def import_any(form: ForeignFormat, path: Path) -> None:
    """All of it: the journal that comes of a file opens, and has its tables."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "run"
        try:
            done = import_files(ImportRequest(form, [path], out, Naming(), ""))
        except CulvertError:  # in words: that it is no traceback is what matters
            assert not out.exists()
            return
        with Journal.open(out) as journal:
            assert journal.trials().height == len(done.trials)
            published_tables(journal.trials(), journal.rows())
