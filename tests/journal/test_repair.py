"""A torn journal gives back what is whole of it, says what is lost, and keeps the torn file."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from culvert.errors import JournalError
from culvert.journal.journal import FILE, Journal
from culvert.journal.repair import Repaired, repair
from tests.journal.dummies import HEAD, failed, trial

TRIALS = 60
PAGE = 4096


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A closed journal of two sessions, and its rows."""
    directory = tmp_path_factory.mktemp("whole")
    with Journal.create(directory, HEAD) as journal:
        for number in range(TRIALS // 2):
            journal.record(trial(number))
        journal.finish("interrupted")
    with Journal.resume(directory, HEAD) as journal:
        for number in range(TRIALS // 2, TRIALS):
            journal.record(failed(number) if number % 7 == 0 else trial(number))
        return directory / FILE, journal.rows()


def torn(path: Path, directory: Path, change: Callable[[bytearray], None]) -> bytes:
    content = bytearray(path.read_bytes())
    change(content)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE).write_bytes(content)
    return bytes(content)


def by_place(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows without the trials' numbers, which a repair gives anew."""
    return rows.drop("trial")


def check(directory: Path, rows: pl.DataFrame, content: bytes) -> Repaired | None:
    """Repair; what is there afterwards was measured, and what is not is told."""
    found = told = None
    try:
        found = repair(directory)
    except JournalError as error:
        told = error
    if found is None:
        # Nothing can be saved: nothing was changed.
        assert told is not None
        assert told.why
        assert told.remedy
        assert (directory / FILE).read_bytes() == content
        return None
    with Journal.open(directory) as journal:
        saved, done = journal.rows(), journal.done()
    assert len(done) == found.kept
    keys = ["block", "vpn", "metric"]
    assert_frame_equal(
        by_place(saved).sort(keys),
        by_place(rows.join(saved.select(keys), on=keys, how="semi", nulls_equal=True)).sort(keys),
    )
    if found.aside is not None:
        assert found.aside.read_bytes() == content
    assert {path.name for path in directory.iterdir()} <= {
        FILE,
        f"{FILE}-wal",
        f"{FILE}-shm",
        "journal.lock",
        "journal.damaged-1.sqlite",
        "journal.damaged-1.sqlite-wal",
    }
    return found


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_torn_at_random_places(
    tmp_path_factory: pytest.TempPathFactory, whole: tuple[Path, pl.DataFrame], data: st.DataObject
) -> None:
    path, rows = whole
    directory = tmp_path_factory.mktemp("torn")

    def tear(content: bytearray) -> None:
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(content) - 1))
            length = data.draw(st.sampled_from([1, 1, 16, 600, 5000]))
            end = min(at + length, len(content))
            content[at:end] = random.Random(data.draw(st.integers(0, 99))).randbytes(end - at)
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(0, len(content))) :]

    check(directory, rows, torn(path, directory, tear))
    shutil.rmtree(directory)


@settings(max_examples=12, deadline=None)
@given(page=st.integers(1, 200), seed=st.integers(0, 99))
def test_one_torn_page_costs_what_is_on_it(
    tmp_path_factory: pytest.TempPathFactory,
    whole: tuple[Path, pl.DataFrame],
    page: int,
    seed: int,
) -> None:
    path, rows = whole
    directory = tmp_path_factory.mktemp("page")
    pages = path.stat().st_size // PAGE
    begin = (page % pages) * PAGE

    def tear(content: bytearray) -> None:
        content[begin : begin + PAGE] = random.Random(seed).randbytes(PAGE)

    found = check(directory, rows, torn(path, directory, tear))
    if found is not None:
        assert found.kept + len(found.lost) <= TRIALS
    shutil.rmtree(directory)


def zeroed(page: int) -> Callable[[bytearray], None]:
    def change(content: bytearray) -> None:
        content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)

    return change


def test_the_first_page_is_replaced(whole: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    path, rows = whole
    content = torn(path, tmp_path / "x", zeroed(0))
    found = check(tmp_path / "x", rows, content)
    assert found is not None
    assert (found.kept, dict(found.lost)) == (TRIALS, {})


def test_what_is_lost_is_measured_again(whole: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    path, rows = whole
    directory = tmp_path / "x"

    def change(content: bytearray) -> None:
        at = content.index(b'"n":31,"proved"') + 5
        content[at : at + 1] = b"9"

    found = check(directory, rows, torn(path, directory, change))
    assert found is not None
    assert (found.kept, list(found.lost)) == (TRIALS - 1, [32])
    assert "x, udp, block 8: its checksum does not match" in found.lost[32]
    with Journal.resume(directory, HEAD) as journal:
        assert (8, "cell3") not in journal.done()
        journal.record(trial(31))
        endings = [session["ended_why"] for session in journal.run()["sessions"]]
    assert endings[0] == "interrupted"
    assert endings[1] == "repaired; trials of the damaged journal that are lost: 32"
    again = repair(directory)
    assert (again.kept, again.aside) == (TRIALS, None)


def test_a_whole_journal_is_left_alone(whole: tuple[Path, pl.DataFrame], tmp_path: Path) -> None:
    shutil.copy(whole[0], tmp_path / FILE)
    assert repair(tmp_path) == Repaired(TRIALS)
    assert (tmp_path / FILE).read_bytes() == whole[0].read_bytes()


def test_the_wal_is_saved_too(tmp_path: Path) -> None:
    source, directory = tmp_path / "source", tmp_path / "torn"
    with Journal.create(source, HEAD) as journal:
        for number in range(20):
            journal.record(trial(number))
        shutil.copytree(source, directory)
        rows = journal.rows()
    (directory / f"{FILE}-shm").unlink()
    with sqlite3.connect(directory / FILE) as connection:
        connection.execute("UPDATE trial SET reason = 'x' WHERE id = 3")
        connection.commit()
    found = repair(directory)
    assert (found.kept, list(found.lost)) == (19, [3])
    with Journal.open(directory) as journal:
        assert len(journal.rows()) == rows.filter(pl.col("trial") != 3).height


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="it contains no journal"):
        repair(tmp_path)
    newer = tmp_path / "newer"
    Journal.create(newer, HEAD).close()
    with sqlite3.connect(newer / FILE) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(JournalError, match="newer version of Culvert"):
        repair(newer)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    with sqlite3.connect(foreign / FILE) as connection:
        connection.execute("CREATE TABLE t (x)")
    with pytest.raises(JournalError, match="not a journal"):
        repair(foreign)
    garbage = tmp_path / "garbage"
    garbage.mkdir()
    (garbage / FILE).write_bytes(b"no" * 9999)
    with pytest.raises(JournalError, match="cannot be repaired"):
        repair(garbage)
    busy = tmp_path / "busy"
    with Journal.create(busy, HEAD), pytest.raises(JournalError, match="another run"):
        repair(busy)
