"""Crashes, full disks and torn files: a clear error, or what was measured, never a wrong figure."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from culvert.errors import JournalError
from culvert.journal.journal import FILE, Journal
from tests.journal.dummies import HEAD, trial

TRIALS = 40

LOOP = """
import os, sys
from pathlib import Path
from culvert.journal.journal import Journal
from tests.journal.dummies import HEAD, trial
directory = Path(sys.argv[1])
def write():
    begin = Journal.resume if Journal.exists(directory) else Journal.create
    journal = begin(directory, HEAD)
    number = len(journal.done())
    while True:
        journal.record(trial(number))
        print(f"{number}\\n", end="", flush=True)
        number += 1
for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        write()
    os.waitpid(child, 0)
    print("killed", flush=True)
"""
"""For each line that it reads: a process, its id, the trials that it has written, "killed".

A fork of what has imported all: starting Python ten times takes longer than what is tested.
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame, pl.DataFrame]:
    """A closed journal, its rows and its series."""
    directory = tmp_path_factory.mktemp("whole")
    with Journal.create(directory, HEAD) as journal:
        for number in range(TRIALS):
            journal.record(trial(number))
        return directory / FILE, journal.rows(), journal.series()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A journal as a crash leaves it, with a WAL, and its rows."""
    directory, crashed = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("crashed")
    with Journal.create(directory, HEAD) as journal:
        for number in range(TRIALS):
            journal.record(trial(number))
        for path in directory.iterdir():
            shutil.copy(path, crashed)
        return crashed, journal.rows()


def read(directory: Path) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Rows and series, or None if the journal was refused with a clear error."""
    try:
        with Journal.open(directory) as journal:
            return journal.rows(), journal.series()
    except JournalError as error:
        refused = error
    assert refused.what
    assert refused.why
    assert refused.remedy
    return None


@settings(max_examples=150)
@given(data=st.data())
def test_a_changed_file_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory,
    whole: tuple[Path, pl.DataFrame, pl.DataFrame],
    data: st.DataObject,
) -> None:
    path, _, _ = whole
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.sampled_from([1, 1, 8, 600, 5000]))
        end = min(at + length, len(content))
        content[at:end] = data.draw(st.randoms()).randbytes(end - at)
    directory = tmp_path_factory.mktemp("changed")
    (directory / FILE).write_bytes(content)
    read(directory)
    assert (directory / FILE).read_bytes() == content
    shutil.rmtree(directory)


@settings(max_examples=40)
@given(data=st.data())
def test_a_truncated_file_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    whole: tuple[Path, pl.DataFrame, pl.DataFrame],
    data: st.DataObject,
) -> None:
    path, _, _ = whole
    content = path.read_bytes()
    length = data.draw(st.integers(0, len(content) - 1))
    directory = tmp_path_factory.mktemp("truncated")
    (directory / FILE).write_bytes(content[:length])
    assert read(directory) is None
    assert (directory / FILE).stat().st_size == length
    shutil.rmtree(directory)


@settings(max_examples=40)
@given(data=st.data())
def test_a_torn_wal_loses_only_what_came_last(
    tmp_path_factory: pytest.TempPathFactory,
    live: tuple[Path, pl.DataFrame],
    data: st.DataObject,
) -> None:
    source, rows = live
    directory = tmp_path_factory.mktemp("torn")
    shutil.copy(source / FILE, directory)
    content = bytearray((source / f"{FILE}-wal").read_bytes())
    assert len(content) > 100_000
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[at:]
    else:
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    (directory / f"{FILE}-wal").write_bytes(content)
    found = read(directory)
    if found is not None:
        trials = found[0]["trial"].n_unique()
        assert_frame_equal(found[0], rows.filter(pl.col("trial") <= trials))
    shutil.rmtree(directory)


def test_what_a_crash_leaves_is_read_whole(live: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    source, rows = live
    directory = tmp_path / "copy"
    shutil.copytree(source, directory)
    found = read(directory)
    assert found is not None
    assert_frame_equal(found[0], rows)


@pytest.mark.slow
def test_kill_9_loses_at_most_the_trial_in_flight(tmp_path: Path) -> None:
    moments = random.Random(1)
    recorded = 0
    command = [sys.executable, "-c", LOOP, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        for _ in range(10):
            starter.stdin.write("go\n")
            child = int(starter.stdout.readline())
            told = int(starter.stdout.readline()) + 1
            time.sleep(moments.uniform(0.0, 0.15))  # a random moment, not a wait
            os.kill(child, signal.SIGKILL)
            for line in iter(starter.stdout.readline, "killed\n"):
                told = int(line) + 1
            with Journal.open(tmp_path) as journal:
                kept = len(journal.trials())
                # What was told is kept; the one in flight may have been committed but not told.
                assert told <= kept <= told + 1
                assert kept > recorded
                recorded = kept
                expected = {(number // 4 + 1, f"cell{number % 4}") for number in range(kept)}
                assert journal.done() == expected


def record_many(journal: Journal) -> None:
    for number in range(1, 1000):
        journal.record(trial(number))


class Interrupted(list[object]):
    def __iter__(self) -> Iterator[object]:
        raise KeyboardInterrupt


def test_ctrl_c_in_the_middle_of_a_transaction_leaves_no_half_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(
                "culvert.journal.journal.child_rows",
                lambda one: {"metric": [], "series": [], "histogram": Interrupted()},
            )
            with pytest.raises(KeyboardInterrupt):
                journal.record(trial(0))
        assert journal.done() == set()
        assert journal.record(trial(0)) == 1
    assert read(tmp_path) is not None


def test_a_record_is_on_disk_when_it_is_told(tmp_path: Path) -> None:
    # https://sqlite.org/pragma.html#pragma_synchronous: 2 is FULL, which syncs each commit.
    with Journal.create(tmp_path, HEAD) as journal:
        assert journal._sql.execute("PRAGMA synchronous").fetchone() == (2,)
        assert journal._sql.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_damaged_index_is_noticed(whole: tuple[Path, object, object], tmp_path: Path) -> None:
    content = bytearray(whole[0].read_bytes())
    connection = sqlite3.connect(whole[0])
    (page,) = connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'trial'"
    ).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    # The number of entries stands at bytes 3 and 4 of a page (https://sqlite.org/fileformat.html).
    content[(page - 1) * size + 4] -= 1
    (tmp_path / FILE).write_bytes(content)
    assert read(tmp_path) is None


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
        (pages,) = journal._sql.execute("PRAGMA page_count").fetchone()
        journal._sql.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(JournalError, match="disk is full") as caught:
            record_many(journal)
        assert caught.value.what == str(tmp_path)
        kept = len(journal.trials())
        assert kept >= 1
        journal._sql.execute("PRAGMA max_page_count = 1000000")
        journal.record(trial(kept))
    with Journal.open(tmp_path) as journal:
        assert journal.done() == {(n // 4 + 1, f"cell{n % 4}") for n in range(kept + 1)}


@pytest.mark.lab
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from culvert.errors import JournalError\n"
        "from culvert.journal.journal import Journal\n"
        "from tests.journal.dummies import HEAD, trial\n"
        "directory = Path(sys.argv[1]); number = 0\n"
        "journal = Journal.create(directory, HEAD)\n"
        "try:\n"
        "    while True:\n"
        "        journal.record(trial(number)); number += 1\n"
        "except JournalError as error:\n"
        "    print(number, error.what, '|', error.why)\n"
        "journal.close()\n"
        "with Journal.open(directory) as journal:\n"
        "    assert len(journal.trials()) == number, len(journal.trials())\n"
        "try:\n"
        "    (directory / 'filler').write_bytes(b'x' * 10**7)\n"
        "except OSError: pass\n"
        "try:\n"
        "    Journal.create(directory / 'second', HEAD)\n"
        "except JournalError as error:\n"
        "    print(error)\n"
    )
    mount = 'mount -t tmpfs -o size=1m,mode=755 none "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", tmp_path, sys.executable, code],
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = done.stdout.splitlines()
    number, _, why = first.partition(" ")
    assert int(number) > 10
    assert str(tmp_path) in why
    assert "disk is full" in why
    assert "second" in second


@pytest.mark.lab
@pytest.mark.parametrize("room", ["16k", "40k", "52k"])
def test_a_disk_without_room_for_a_journal(tmp_path: Path, room: str) -> None:
    """Nothing half-made stays."""
    code = (
        "import sys; from pathlib import Path; from culvert.errors import JournalError\n"
        "from culvert.journal.journal import Journal\n"
        "from tests.journal.dummies import HEAD\n"
        "directory = Path(sys.argv[1]) / 'run'\n"
        "try:\n"
        "    Journal.create(directory, HEAD).close()\n"
        "except JournalError as error:\n"
        "    print(error.why, '|', error.remedy)\n"
        "    if Journal.exists(directory):\n"
        "        Journal.open(directory).close()\n"
    )
    mount = 'mount -t tmpfs -o size="$4",mode=755 none "$1" && exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, "sh", tmp_path, sys.executable, code, room],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "the disk is full" in done.stdout
