"""Many runs that nobody measured: their journals are one, their summaries differ."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from bench.long_journal import write
from culvert.history.places import places
from culvert.history.store import Tables, store, summarised
from culvert.journal.journal import FILE, Journal
from culvert.report.run_info import RunInfo

_BEGIN = datetime(2020, 1, 1, tzinfo=UTC)


def write_runs(directory: Path, count: int) -> None:
    """Directories with a journal of 100 cells each, and the store of their summaries; one level
    changes after 60 % of the runs."""
    first = directory / "run-00000"
    write(first, blocks=1)
    for number in range(1, count):
        path = directory / f"run-{number:05}"
        path.mkdir()
        os.link(first / FILE, path / FILE)
    found = places([directory])
    with Journal.open(first) as journal:
        one = summarised(found[0], RunInfo.from_journal(journal.run()), journal.rows())
    rng = np.random.default_rng(1)
    runs, cells = [], []
    for number, place in enumerate(found):
        begun = (_BEGIN + timedelta(hours=number)).isoformat()
        facts = json.dumps({"kernel.release": f"6.{number * 8 // count}"})
        of_run = {"id": place.id, "run": place.name, "facts": facts}
        of_run |= {"started_at": begun, "identity": begun}
        runs.append(one.runs.row(0, named=True) | of_run)
        noise = rng.normal(1, 0.02, len(one.cells)) * (0.95 if number > 0.6 * count else 1)
        cells.append(
            one.cells.with_columns(
                id=pl.lit(place.id),
                median=pl.col("median") * pl.Series(noise),
            )
        )
    store(directory, Tables(pl.DataFrame(runs, schema=one.runs.schema), pl.concat(cells)))
