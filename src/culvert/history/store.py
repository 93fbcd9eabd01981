"""The summaries of many runs, as Parquet files beside their journals.

``.culvert-history/`` in the directory of the runs has two tables in parts: ``runs`` with a row per
run, ``cells`` with a row per run, cell and metric. A new or changed journal is read once and added
as a new part, by several processes if there are many; parts are joined when there are too many.
Rows of a former state of a journal are ignored. Where nothing can be written, journals are read
each time.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from culvert.analysis.observations import CELL, observations
from culvert.compare.side import with_defaults
from culvert.errors import CulvertError
from culvert.files.target import locked, write
from culvert.history.machine import facts_of, machine_of
from culvert.history.places import LeftOut, Place, number_of
from culvert.journal.codec import json_text
from culvert.journal.journal import Journal
from culvert.report.run_info import RunInfo
from culvert.spread import spread
from culvert.statistics.intervals import median_intervals
from culvert.study.vpn_id import BASELINE

NAME = ".culvert-history"
FORM = 2
"""In the names of the files: other forms are ignored."""
_LOCK = "lock"
_MOST_PARTS = 8
_FEW = 16
"""So many journals are read in less time than a second process takes to start."""

RUNS: dict[str, type[pl.DataType]] = {
    "id": pl.Int64,
    "run": pl.String,
    "study": pl.String,
    "machine": pl.String,
    "started_at": pl.String,
    "identity": pl.String,
    "facts": pl.String,
}
"""One row per run. ``id`` is that of its place and state, ``identity`` that of the run, which its
copies share; ``facts``: JSON of texts by name."""
CELLS: dict[str, type[pl.DataType]] = {
    "id": pl.Int64,
    "series": pl.Int64,
    **dict.fromkeys(CELL, pl.String),
    "metric": pl.String,
    "unit": pl.String,
    "version": pl.String,
    "n": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""One row per run, cell and metric without labels. ``series`` is a number of CELL, metric and unit:
millions of rows are grouped by it, not by six texts."""


@dataclass(frozen=True)
class Tables:
    """``runs`` as RUNS, ``cells`` as CELLS."""

    runs: pl.DataFrame
    cells: pl.DataFrame


def summaries(found: Sequence[Place], metrics: Sequence[str]) -> tuple[Tables, list[LeftOut]]:
    """Of the runs, each named by its path, not as in its store; ``cells`` has only these metrics
    (names or patterns)."""
    by_root: dict[Path, list[Place]] = {}
    for place in found:
        by_root.setdefault(place.root, []).append(place)
    parts: list[Tables] = []
    unread: list[LeftOut] = []
    for root, own in by_root.items():
        tables, troubles = _of_root(root, own, metrics)
        unread += troubles
        path = pl.concat_str(pl.lit(_text(f"{root}/") if str(root) != "." else ""), "run").alias(
            "run"
        )
        parts.append(Tables(tables.runs.with_columns(path), tables.cells))
    return _joined(parts), unread


def _of_root(root: Path, own: list[Place], metrics: Sequence[str]) -> tuple[Tables, list[LeftOut]]:
    wanted = {one.id: one for one in own}
    with ExitStack() as stack:
        folder = None
        with suppress(OSError):  # another user's directory, or a read-only disk
            folder = _opened(root, stack)
        kept = _kept(folder, wanted, metrics)
        have = set(kept.runs["id"].to_list())
        new = [place for number, place in wanted.items() if number not in have]
        if not new:
            return kept, []
        fresh, troubles = _summarised(new)
        if folder is not None:
            with suppress(OSError):
                _add(folder, fresh)
    return _joined([kept, Tables(fresh.runs, _only(fresh.cells.lazy(), metrics))]), troubles


def _text(name: str) -> str:
    """A name of the file system, whose bytes need not be text."""
    return name.encode("utf-8", "backslashreplace").decode()


def store(root: Path, fresh: Tables) -> None:
    """Add summaries to the store of a directory. Raises OSError."""
    with ExitStack() as stack:
        _add(_opened(root, stack), fresh)


def _opened(root: Path, stack: ExitStack) -> Path:
    stack.enter_context(locked(root / NAME / _LOCK))
    # Polars takes paths that are text only.
    descriptor = os.open(root / NAME, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return Path(f"/proc/self/fd/{descriptor}")


def _kept(folder: Path | None, ids: Iterable[int], metrics: Sequence[str]) -> Tables:
    """What the store has of these runs in their present state. A damaged store is removed."""
    if folder is None:
        return _joined([])
    wanted = pl.LazyFrame({"id": list(ids)}, schema={"id": pl.Int64})
    try:
        runs = _scan(folder, "runs", RUNS).join(wanted, on="id", how="semi").collect()
        cells = _scan(folder, "cells", CELLS).join(wanted, on="id", how="semi")
        return Tables(runs, _only(cells, metrics))
    except pl.exceptions.PolarsError:
        for name in (*_parts(folder, "runs"), *_parts(folder, "cells")):
            (folder / name).unlink(missing_ok=True)
        return _joined([])


def _only(cells: pl.LazyFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Metrics by names or patterns."""
    names = metrics
    if any(set("*?[") & set(one) for one in metrics):
        known = cells.select(pl.col("metric").unique()).collect()["metric"].to_list()
        names = [name for name in known if any(fnmatchcase(name, one) for one in metrics)]
    return cells.filter(pl.col("metric").is_in(names)).collect()


def _scan(folder: Path, table: str, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
    names = [folder / name for name in _parts(folder, table)]
    return pl.scan_parquet(names, schema=schema) if names else pl.LazyFrame(schema=schema)


def _parts(folder: Path, table: str) -> list[str]:
    begin = f"{table}-{FORM}-"
    return sorted(one.name for one in folder.iterdir() if one.name.startswith(begin))


def _add(folder: Path, fresh: Tables) -> None:
    """Write a new part, or all parts as one if there are many. ``cells`` first: a run is there when
    its row is."""
    former = {table: _parts(folder, table) for table in ("runs", "cells")}
    number = 1 + max((_number(name) for names in former.values() for name in names), default=0)
    if len(former["runs"]) < _MOST_PARTS:
        former = {}
    else:
        whole = Tables(
            _scan(folder, "runs", RUNS).collect(), _scan(folder, "cells", CELLS).collect()
        )
        fresh = _newest(_joined([whole, fresh]))
    # Rows of one metric lie together: a reader of few metrics skips the others.
    for table, frame in (("cells", fresh.cells.sort("metric", "series")), ("runs", fresh.runs)):
        content = io.BytesIO()
        frame.write_parquet(content, row_group_size=20_000)
        write(folder / f"{table}-{FORM}-{number:06}.parquet", content.getvalue())
    for name in (name for names in former.values() for name in names):
        (folder / name).unlink(missing_ok=True)


def _number(part: str) -> int:
    return int(part.removesuffix(".parquet").rpartition("-")[2])


def _newest(tables: Tables) -> Tables:
    """The last state of each run."""
    runs = tables.runs.unique("run", keep="last", maintain_order=True)
    return Tables(runs, tables.cells.join(runs, on="id", how="semi"))


def _joined(tables: Sequence[Tables]) -> Tables:
    return Tables(
        pl.concat([pl.DataFrame(schema=RUNS), *(one.runs for one in tables)]),
        pl.concat([pl.DataFrame(schema=CELLS), *(one.cells for one in tables)]),
    )


def _summarised(new: Sequence[Place]) -> tuple[Tables, list[LeftOut]]:
    tables, unread = [], []
    for place, result in zip(new, spread(_one, new, _FEW), strict=True):
        if isinstance(result, str):
            unread.append(LeftOut(place.directory, result))
        else:
            tables.append(result)
    return _joined(tables), unread


def _one(place: Place) -> Tables | str:
    """The rows of one run, or why it cannot be read."""
    try:
        with Journal.open(place.directory) as journal:
            return summarised(place, RunInfo.from_journal(journal.run()), journal.rows())
    except CulvertError as error:
        return error.why


def summarised(place: Place, run: RunInfo, rows: pl.DataFrame) -> Tables:
    """The rows of one run. ``rows`` as the journal returns them."""
    of_run = (
        place.id,
        _text(place.name),
        run.study,
        machine_of(run),
        run.started_at,
        run.identity,
        json_text(facts_of(run)),
    )
    found = observations(with_defaults(rows)).filter(pl.col("labels") == "{}")
    keys = [*CELL, "metric", "unit"]
    grouped = found.group_by(keys, maintain_order=True).agg(
        n=pl.len().cast(pl.Int64), median=pl.col("value").median(), values=pl.col("value")
    )
    intervals = median_intervals(grouped["values"].to_list(), run.design.looks)
    versions = rows.filter(pl.col("version") != "").group_by("vpn").agg(pl.col("version").last())
    cells = grouped.join(versions, on="vpn", how="left", maintain_order="left").with_columns(
        id=pl.lit(place.id),
        series=pl.Series(map(number_of, grouped.select(keys).iter_rows()), dtype=pl.Int64),
        version=pl.when(pl.col("vpn") != BASELINE).then("version").fill_null(""),
        low=pl.Series([one.low for one in intervals], dtype=pl.Float64),
        high=pl.Series([one.high for one in intervals], dtype=pl.Float64),
    )
    return Tables(pl.DataFrame([of_run], schema=RUNS, orient="row"), cells.select(*CELLS))
