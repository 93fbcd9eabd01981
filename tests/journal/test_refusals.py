"""Journals that must not be written to, or cannot be read."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from culvert.errors import JournalError, UsageError
from culvert.journal.connection import writing
from culvert.journal.journal import FILE, Journal
from culvert.journal.rows import child_rows, insert_row, insert_trial, run_row, trial_row
from culvert.journal.schema import APPLICATION_ID, CHECKSUM_TABLES, CHECKSUM_VERSION
from tests.journal.dummies import HEAD, WHEN, trial


def pragma(directory: Path, statement: str) -> None:
    connection = sqlite3.connect(directory / FILE)
    connection.execute(statement)
    connection.commit()
    connection.close()


def test_a_journal_is_not_overwritten(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
    with pytest.raises(JournalError, match="already contains a journal") as caught:
        Journal.create(tmp_path, HEAD)
    assert "--resume" in caught.value.remedy
    with Journal.open(tmp_path) as journal:
        assert len(journal.trials()) == 1


def test_two_runs_on_one_journal_are_refused(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD):
        for attempt in (
            partial(Journal.resume, tmp_path, HEAD),
            partial(Journal.create, tmp_path, HEAD),
        ):
            with pytest.raises(JournalError, match=f"process {os.getpid()}"):
                attempt()
    Journal.resume(tmp_path, HEAD).close()


def test_a_run_in_another_process_is_named(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from culvert.journal.journal import Journal\n"
        "from tests.journal.dummies import HEAD\n"
        "journal = Journal.create(Path(sys.argv[1]), HEAD)\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(JournalError, match=f"process {child.pid}"):
            Journal.resume(tmp_path, HEAD)
        child.kill()
    with Journal.resume(tmp_path, HEAD) as journal:
        assert len(journal.run()["sessions"]) == 2


def test_resuming_another_study_says_what_differs(tmp_path: Path) -> None:
    Journal.create(tmp_path, HEAD).close()
    other = replace(HEAD, digest="e" * 64, canonical='{"name":"s","plan":{"seed":2},"title":["a"]}')
    with pytest.raises(UsageError) as caught:
        Journal.resume(tmp_path, other)
    assert "plan.seed: 1, now 2" in caught.value.why
    assert 'title: null, now ["a"]' in caught.value.why
    scaled = replace(other, canonical='{"name":"s","scale":"quick"}')
    with pytest.raises(UsageError, match="as a whole, not at the scale quick") as caught:
        Journal.resume(tmp_path, scaled)
    assert caught.value.remedy == "leave out --scale"
    with pytest.raises(UsageError, match="lab netns, not vm"):
        Journal.resume(tmp_path, replace(HEAD, lab="vm"))


def test_resuming_keeps_the_trials_and_adds_a_session(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
    with Journal.resume(tmp_path, replace(HEAD, culvert_version="0.2")) as journal:
        assert journal.done() == {(1, "cell0")}
        journal.record(trial(1))
        journal.finish("done")
        assert journal.trials()["session"].to_list() == [1, 2]
        run = journal.run()
    assert [session["culvert_version"] for session in run["sessions"]] == ["0.1.0", "0.2"]
    assert [session["ended_why"] for session in run["sessions"]] == [None, "done"]


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    Journal.create(tmp_path, HEAD).close()
    pragma(tmp_path, "PRAGMA user_version = 3")
    before = (tmp_path / FILE).read_bytes()
    for attempt in (partial(Journal.open, tmp_path), partial(Journal.resume, tmp_path, HEAD)):
        with pytest.raises(JournalError, match="a newer version of Culvert wrote it") as caught:
            attempt()
        assert caught.value.remedy == "update Culvert"
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("PRAGMA application_id = 7", "not a journal"),
        ("PRAGMA user_version = 0", "corrupt"),
        ("DELETE FROM run", "the record of its study is missing"),
        ("DELETE FROM trial WHERE id = 2", "its trial is missing"),
        ("DROP TABLE histogram", "it has other tables"),
        (
            "INSERT INTO metric (trial_id, metric, unit, value) VALUES (9, 'x', 's', 1.0)",
            "its trial is missing",
        ),
    ],
)
def test_what_was_changed_is_noticed(tmp_path: Path, statement: str, why: str) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        for number in range(3):
            journal.record(trial(number))
    pragma(tmp_path, statement)
    with pytest.raises(JournalError, match=why) as caught:
        Journal.open(tmp_path)
    assert caught.value.remedy


def test_a_directory_without_a_journal(tmp_path: Path) -> None:
    for attempt in (
        partial(Journal.open, tmp_path / "x"),
        partial(Journal.resume, tmp_path, HEAD),
    ):
        with pytest.raises(JournalError, match="it contains no journal"):
            attempt()
    assert list(tmp_path.iterdir()) == []


def test_a_bundle_is_not_the_directory_of_a_run(tmp_path: Path) -> None:
    bundle = tmp_path / "quick.zip"
    bundle.touch()
    with pytest.raises(JournalError, match="it is not a directory") as caught:
        Journal.open(bundle)
    assert f"culvert verify {bundle} --extract" in caught.value.remedy


@pytest.mark.parametrize("content", [b"no", b"SQLite format 3\0", b"\0" * 8192])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    for attempt in (
        partial(Journal.open, tmp_path),
        partial(Journal.resume, tmp_path, HEAD),
        partial(Journal.create, tmp_path, HEAD),
    ):
        with pytest.raises(JournalError):
            attempt()
    assert (tmp_path / FILE).read_bytes() == content


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="cannot be made") as caught:
        Journal.create(tmp_path / "file" / "x", HEAD)
    assert "--out" in caught.value.remedy


def test_what_an_interrupted_creation_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"")
    with pytest.raises(JournalError, match="it contains no journal"):
        Journal.open(tmp_path)
    with Journal.create(tmp_path, HEAD) as journal:
        assert journal.record(trial(0)) == 1


def test_a_journal_with_checksums_is_read_and_continued(tmp_path: Path) -> None:
    """Of the first version."""
    with closing(writing(tmp_path / FILE)) as sql:
        sql.executescript(CHECKSUM_TABLES)
        sql.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        sql.execute(f"PRAGMA user_version = {CHECKSUM_VERSION}")
        insert_row(sql, "run", run_row(HEAD, WHEN.isoformat()))
        insert_row(sql, "session", (WHEN.isoformat(), "0", "{}"))
        insert_trial(sql, trial_row(trial(0), 1), child_rows(trial(0)))
    with Journal.resume(tmp_path, HEAD) as journal:
        assert journal.record(trial(1)) == 2
    with Journal.open(tmp_path) as journal:
        assert journal.done() == {(1, "cell0"), (1, "cell1")}
        assert journal.run()["study"] == "s"


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_a_log_without_its_journal_is_not_played_into_a_new_one(tmp_path: Path, end: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with Journal.create(tmp_path / "another", HEAD) as journal:
        journal.record(trial(0))
        shutil.copy(tmp_path / "another" / f"{FILE}-wal", run / f"{FILE}{end}")
    with Journal.create(run, HEAD) as journal:
        assert journal.done() == set()
        assert len(journal.run()["sessions"]) == 1


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_what_is_no_file_is_no_journal(tmp_path: Path, make: Callable[[Path], object]) -> None:
    make(tmp_path / FILE)
    with pytest.raises(JournalError, match="it contains no journal"):
        Journal.open(tmp_path)
