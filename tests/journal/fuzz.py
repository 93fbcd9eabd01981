"""``python -m tests.journal.fuzz SECONDS``: changes journals and gives them to every reader.

Values with renewed checksums, the schema, pages and the log. What is no error in words, or takes
too long, ends it: the journal is kept in target/fuzz-journal/, and the exit code is 1.
"""

from __future__ import annotations

import io
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from culvert.bundle.write import bundle
from culvert.compare.outcome import compare
from culvert.compare.side import sides
from culvert.errors import CulvertError
from culvert.journal.export import export
from culvert.journal.format import ROWS
from culvert.journal.journal import FILE, Journal
from culvert.journal.schema import CONTENT
from culvert.report.html.write import write_data
from culvert.report.model import read
from culvert.report.terminal.summary import summary_of
from tests.compare.runs import write_run
from tests.journal.attacks import SCHEMAS, VALUES, assign, execute, made
from tests.report.synthetic import NASTY

KEPT = Path("target/fuzz-journal")
MOST_S = 10.0
REPORT_EVERY = 8
"""A report takes longer than the other readers together."""

_COLUMNS = [(table, column) for table, columns in CONTENT.items() for column in columns]
_SPICES: tuple[object, ...] = (
    None, 0, 1, -1, 2**31, 2**53, 2**62, -(2**63), 1.5, -0.0, 1e308, -1e308, 5e-324, float("inf"),
    "", " ", "x", "none", "ok", "failed", "rtt", "tcp", "netns", "imported", "{}", "[]", "null",
    "{", '{"a":{}}', '{"a":[]}', '{"packet_size":{}}', '{"packet_size":[[1]]}', '{"streams":1e400}',
    '{"condition":7}', '{"condition":[{"name":[]}]}', '{"scale":[]}', '{"scale":{"a":1}}',
    '{"checks":7}', '{"checks":[7,{"name":"data path","figures":7}]}', '{"checks":{"name":1}}',
    '{"topology":{"nodes":[7]}}', '{"topology":{"paths":[["a"]]}}', '{"host_lost":7}',
    '{"underlay":{"a":{"passages":{"b":[7]}}}}', '{"clients":"x"}', '{"clients":1e300}',
    '{"imported":7}', '{"imported":{"file":7,"line":[],"name":{}}}', '{"proved":[]}',
    '{"cpu":7,"kernel":[]}', '{"cpu":{"model":{}}}', '{"not_comparable":["x"]}', '{"node":"a"}',
    '{"node":7}', '{"underlay":7}', '{"underlay":{"asked":[]}}', '{"lost":{},"notes":7}',
    "2026-01-01T00:00:00+00:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    'name = "s"', "vpns = 7", "\u202e", "\x00", "\ud7ff", "a\nb", "=1+1", "../../x", NASTY,
    b"", b"x", b"\x78\x9c\x03\x00\x00\x00\x00\x01", "9" * 5000, "[" * 3000, "x" * 100_000,
    "HISTFAAAAA", "HISTFAAAACF42pNpmSzMwMDAxAABzFCaEUoz2X+AsIwlAEVVAt4=",
)  # fmt: skip


def main(seconds: float) -> int:
    """Fuzz until the time is over; 1 after the first journal that is not survived."""
    seed = time.time_ns()
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    until = time.monotonic() + seconds
    count = 0
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        values = {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8]}
        samples = [made(scratch / "dummies"), write_run(scratch / "run", values)]
        while time.monotonic() < until:
            run = scratch / "changed"
            shutil.copytree(chance.choice(samples), run)
            spoil(run, chance)
            before = scratch / "before"
            shutil.copytree(run, before)
            begun = time.monotonic()
            try:
                survive(run, samples[1], whole=count % REPORT_EVERY == 0)
                took_s = time.monotonic() - begun
                if took_s > MOST_S:
                    raise TimeoutError(f"it took {took_s:.1f} s")
            except Exception:  # that is what is looked for
                traceback.print_exc()
                kept = KEPT / f"{seed}-{count}"
                shutil.copytree(before, kept)
                print(f"kept: {kept}", file=sys.stderr)
                return 1
            shutil.rmtree(run)
            shutil.rmtree(before)
            count += 1
    print(f"{count} journals survived")
    return 0


def spoil(run: Path, chance: random.Random) -> None:
    """One to three accidents of one kind."""
    for _ in range(chance.randint(1, 3)):
        match chance.randrange(6):
            case 0:
                _spoil_schema(run, chance)
            case 1:
                _spoil_pages(run, chance)
            case _:
                _spoil_value(run, chance)


def survive(run: Path, other: Path, *, whole: bool) -> None:
    """Every reader reads it or refuses it in words."""
    _refused(lambda: _read(run, other, whole=whole))


def _refused(action: Callable[[], None]) -> CulvertError | None:
    found = None
    try:
        action()
    except CulvertError as error:
        found = error
    if found is not None and not (found.exit_code in (1, 2) and found.why and found.remedy):
        raise AssertionError(found)
    return found


def _read(run: Path, other: Path, *, whole: bool) -> None:
    with Journal.open(run) as journal:
        journal.run()
        journal.trials()
        rows = journal.rows()
    for form in ROWS:
        export(rows, form, run / "rows")
    (run / "rows").unlink()
    compare(*sides([str(other), str(run)], []), tolerance=0.03, alpha=0.05)
    if whole:
        console = Console(file=io.StringIO(), width=200)
        data = read(run)
        write_data(data, run / "report")
        console.print(summary_of(data))
        bundle(run, run / "x.zip")


def _spoil_value(run: Path, chance: random.Random) -> None:
    table, column = chance.choice(_COLUMNS)
    value = chance.choice([*_SPICES, *(one[2] for one in VALUES.values())])
    try:
        assign(run, table, column, value, row=chance.randint(1, 9))
    except (sqlite3.Error, UnicodeError):
        return  # SQLite itself refuses it, or an accident before has spoilt the file


def _spoil_schema(run: Path, chance: random.Random) -> None:
    table, column = chance.choice(_COLUMNS)
    statements = chance.choice(
        [
            *SCHEMAS.values(),
            (f"DELETE FROM {table} WHERE rowid = {chance.randint(1, 9)}",),
            (f"ALTER TABLE {table} RENAME COLUMN {column} TO more",),
            (f"PRAGMA user_version = {chance.choice([-1, 0, 2])}",),
            ("PRAGMA writable_schema = ON", "UPDATE sqlite_master SET rootpage = 2"),
            ("PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = 'CREATE TABLE x (y)'"),
            ("UPDATE sqlite_sequence SET seq = 'many'",),
            ("UPDATE sqlite_sequence SET seq = 9223372036854775807",),
        ]
    )
    try:
        execute(run, *statements)
    except sqlite3.Error:
        return


def _spoil_pages(run: Path, chance: random.Random) -> None:
    path = run / FILE
    content = bytearray(path.read_bytes())
    if not content:
        return
    page = 4096
    pages = max(1, len(content) // page)
    at, to = (chance.randrange(pages) * page for _ in range(2))
    match chance.randrange(5):
        case 0:
            content[at : at + page] = content[to : to + page]
        case 1:
            place = chance.randrange(len(content))
            content[place : place + 4] = chance.randbytes(4)
        case 2:
            del content[at:]
        case 3:  # pointers in an interior page (https://sqlite.org/fileformat.html, 1.6)
            place = min(at + chance.randrange(16), len(content) - 1)
            content[place] = chance.choice((0, 1, 2, 5, 10, 13, 255))
        case _:
            (run / f"{FILE}-wal").write_bytes(chance.randbytes(chance.randint(0, 9000)))
    path.write_bytes(content)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 300))
