"""The rows of ``culvert export``: those of the journal, with what other programs join them by."""

from __future__ import annotations

import polars as pl

from culvert.journal.codec import fingerprint
from culvert.journal.frames import ROWS_SCHEMA, Schema
from culvert.journal.journal import Journal
from culvert.journal.marks import marks_of
from culvert.report.labels import Labels
from culvert.report.leaves import evidence, find

_ADDED: Schema = {
    "run": pl.String,
    "cell": pl.String,
    "started_at": pl.String,
    "hosts": pl.String,
    "disturbed": pl.String,
}
EXPORTED_SCHEMA: Schema = {**ROWS_SCHEMA, **_ADDED}
"""docs/export.md explains the columns; a test compares the two."""
_RUN_DIGITS = 12


def exported(journal: Journal) -> pl.DataFrame:
    """Columns: EXPORTED_SCHEMA. Raises JournalError."""
    rows, trials, run = journal.rows(), journal.trials(checks_until=0), journal.run()
    labels = Labels(rows)
    run_id = fingerprint((run["digest"], run["seed"], run["started_at"]))[:_RUN_DIGITS]
    added = [
        (
            row["trial"],
            run_id,
            labels.cell(row["condition"], row["measurement"], row["parameters"]),
            row["started_at"],
            *_of_evidence(row["evidence"]),
        )
        for row in trials.iter_rows(named=True)
    ]
    of_trials = pl.DataFrame(added, schema={"trial": pl.Int64, **_ADDED}, orient="row")
    return rows.join(of_trials, on="trial", how="left", maintain_order="left")


def _of_evidence(text: str) -> tuple[str, str]:
    """The hosts that carried the path, and what disturbed the trial."""
    found = evidence(text)
    nodes = find(found, "underlay")
    hosts = [find(node, "host") for node in nodes.values()] if isinstance(nodes, dict) else []
    by = {mark.by for mark in marks_of(found)}
    return ", ".join(str(host) for host in hosts if host), ", ".join(sorted(by))
