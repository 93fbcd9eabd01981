"""The journal: a directory with an SQLite file that contains a run and all its trials.

One transaction per trial, on disk when ``record`` returns (WAL, synchronous=FULL): if the run is
killed, at most the current trial is lost. One run writes at a time; any number of readers may read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from culvert.errors import JournalError, UsageError
from culvert.files.target import give_to_caller, make_directory
from culvert.journal import facts, frames
from culvert.journal.codec import json_text, now_text
from culvert.journal.connection import Reading, explained, is_begun, writing
from culvert.journal.lock import locked
from culvert.journal.record import InstallRecord, RunHead, TrialRecord
from culvert.journal.resuming import refuse_other
from culvert.journal.rows import (
    child_rows,
    insert_row,
    insert_trial,
    install_row,
    run_row,
    trial_row,
)
from culvert.journal.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES
from culvert.journal.verify import verify

FILE = "journal.sqlite"


class Journal:
    """A context manager; leaving closes it. Made by ``create``, ``resume`` and ``open``."""

    def __init__(
        self,
        path: Path,
        sql: sqlite3.Connection,
        *,
        held: ExitStack | None = None,
        reading: Reading | None = None,
    ) -> None:
        self.path = path
        self._sql = sql
        self._held = held
        self._source = reading
        self._session: int | None = None

    # -- making ------------------------------------------------------------------------------------

    @classmethod
    def exists(cls, directory: Path) -> bool:
        """Whether the directory has a journal, intact or not."""
        return is_begun(directory / FILE)

    @classmethod
    def create(cls, directory: Path, head: RunHead) -> Journal:
        """Create a journal with its first session.

        Raises JournalError if there is one already, or the directory cannot be written to.
        """
        try:
            make_directory(directory)
        except OSError as error:
            raise JournalError(
                str(directory), f"it cannot be made: {error.strerror}", "choose another --out"
            ) from error
        with ExitStack() as held:
            held.enter_context(locked(directory))
            if cls.exists(directory):
                raise JournalError(
                    str(directory),
                    "it already contains a journal",
                    "choose another --out, or continue a run with culvert run --resume",
                )
            return cls._begin(directory / FILE, head, held.pop_all(), new=True)

    @classmethod
    def resume(cls, directory: Path, head: RunHead) -> Journal:
        """Open a journal to continue the same study on the same lab, in a new session.

        Raises UsageError with the differences; JournalError for a damaged journal.
        """
        with ExitStack() as held:
            if cls.exists(directory):
                held.enter_context(locked(directory))
            with cls.open(directory) as journal:
                refuse_other(directory, journal.run(), head)
            return cls._begin(directory / FILE, head, held.pop_all())

    @classmethod
    def open(cls, directory: Path) -> Journal:
        """Open a journal to read it; a closed one is not changed.

        What is read is one state of the journal, also if a run begins meanwhile.

        Raises JournalError if it is missing, corrupt, too new, or not written by Culvert.
        """
        path = directory / FILE
        with explained(path):
            reading = Reading(path)
        journal = cls(path, reading.sql, reading=reading)
        try:
            verify(reading.sql, path)
            reading.refuse_changed()
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def _begin(cls, path: Path, head: RunHead, held: ExitStack, *, new: bool = False) -> Journal:
        with held, explained(path):
            sql = held.enter_context(closing(writing(path)))
            journal = cls(path, sql, held=held)
            if new:
                give_to_caller(path)  # SQLite gives its log the same owner
            with journal._transaction():
                if new:
                    sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                    for statement in TABLES.split(";")[:-1]:
                        sql.execute(statement)
                    insert_row(sql, "run", run_row(head, now_text()))
                row = (now_text(), head.culvert_version, json_text(head.environment))
                journal._session = insert_row(sql, "session", row)
            sql.execute("PRAGMA journal_mode = WAL")
            journal._held = held.pop_all()
        return journal

    def close(self) -> None:
        """Close the file and release the lock."""
        if self._held is None:
            self._sql.close()
        else:
            self._held.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- writing -----------------------------------------------------------------------------------

    def record(self, trial: TrialRecord) -> int:
        """Write a trial, in place of one that lost a host; return its id. It is on disk when this
        returns (else JournalError)."""
        self._writing()
        place = trial.block, trial.cell_key
        with self._transaction():
            here = f"block = ? AND cell_key = ? AND {facts.LOST_A_HOST}"
            self._sql.execute(f"DELETE FROM trial WHERE {here}", place)  # noqa: S608 - constants
            return self._insert_trial(trial)

    def record_all(self, trials: Iterable[TrialRecord]) -> int:
        """Write many trials, all or none of them (JournalError); return the number."""
        self._writing()
        count = 0
        with self._transaction():
            for count, trial in enumerate(trials, start=1):  # noqa: B007 - counts
                self._insert_trial(trial)
        return count

    def record_install(self, install: InstallRecord) -> None:
        self._writing()
        with self._transaction():
            insert_row(self._sql, "install", install_row(install))

    def finish(self, reason: str) -> None:
        """Record the regular end of the session; ``reason``: why there are no more trials."""
        session = self._writing()
        with self._transaction():
            self._sql.execute("DELETE FROM ending WHERE session_id = ?", (session,))
            insert_row(self._sql, "ending", (session, now_text(), reason))

    # -- reading -----------------------------------------------------------------------------------

    def done(self) -> set[tuple[int, str]]:
        """Block and cell key of every trial, whatever its status."""
        with self._reading():
            return facts.done(self._sql)

    def to_repeat(self) -> set[tuple[int, str]]:
        """Those of them that lost a host: a resumed run repeats them, and ``record`` replaces
        them."""
        with self._reading():
            return facts.to_repeat(self._sql)

    def trials(self, *, checks_until: int | None = None) -> pl.DataFrame:
        """One row per trial, in the order of measuring, warm-up blocks (block < 1) included.

        Columns: study, trial, session, block, position, cell, vpn, version, condition, measurement,
        parameters (JSON), status, reason, remedy, started_at (ISO 8601), duration_s, measuring_s,
        evidence (JSON; for trials that are ok and later than ``checks_until`` without its checks).
        """
        with self._reading():
            return frames.trials(self._sql, checks_until=checks_until)

    def rows(self) -> pl.DataFrame:
        """One row per metric of each trial, without warm-up blocks.

        Columns: study, block, trial, vpn, version, condition, measurement, parameters, metric,
        labels, unit, value, status, reason. A trial without metrics has one row, metric null.
        """
        with self._reading():
            return frames.rows(self._sql)

    def histograms(self) -> pl.DataFrame:
        """Columns: trial, name, unit, labels (JSON), hdr_v2 (base64)."""
        with self._reading():
            return frames.histograms(self._sql, self.path)

    def series(self) -> pl.DataFrame:
        """One row per series. Columns: trial, name, unit, labels (JSON), t_ns and value (lists)."""
        with self._reading():
            return frames.series(self._sql, self.path)

    def snapshot(self, target: Path) -> None:
        """Write what is read as one new file without a log, equal bytes for equal content."""
        with self._reading(), closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            self._sql.backup(copy)
            copy.execute("VACUUM INTO ?", (str(target),))

    def figures(self, headline: Mapping[str, str]) -> dict[str, dict[int, float]]:
        """Values by cell key and block of trials that are ok, for the stopping rule.

        ``headline`` names for each measurement the metric that must become precise. A cell whose
        trials have no such metric has no entry.
        """
        with self._reading():
            return facts.figures(self._sql, headline)

    def measured_s(self) -> float:
        """Seconds that all trials took, those of earlier sessions included."""
        with self._reading():
            return facts.measured_s(self._sql)

    def run(self) -> dict[str, Any]:
        """The facts about the run.

        Keys: study, title, toml, canonical, digest, seed, lab, culvert_version, environment (a
        dict, of the first session), started_at, ended_at (of the last session; None without a
        regular end), ended_why, sessions and installs (lists of dicts), data_paths (by VPN).
        """
        with self._reading():
            return facts.run_facts(self._sql)

    # -- inside ------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._session is not None and not is_begun(self.path):  # SQLite does not notice
            raise JournalError(
                str(self.path),
                "it was removed during the run, so the run ends here",
                "measure again into a directory that no other program changes",
            )
        with explained(self.path):
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._sql.execute("COMMIT")
            except BaseException:
                # After some errors (a full disk) SQLite has already rolled back.
                if self._sql.in_transaction:
                    self._sql.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            with explained(self.path):
                yield
        finally:
            if self._source is not None:
                self._source.refuse_changed()

    def _insert_trial(self, trial: TrialRecord) -> int:
        row = trial_row(trial, self._writing())
        return insert_trial(self._sql, row, child_rows(trial))

    def _writing(self) -> int:
        if self._session is None:
            raise UsageError(
                str(self.path), "it is open for reading", "open it with Journal.resume"
            )
        return self._session
