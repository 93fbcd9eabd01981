"""What was measured already, for a run that goes on: trials, their figures, their time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from culvert.journal.codec import from_json
from culvert.journal.marks import PART
from culvert.journal.record import Part
from culvert.metrics.renamed import renamed, spellings
from culvert.results import Metric


def done(sql: sqlite3.Connection) -> set[tuple[int, str]]:
    """Block and cell key of every trial."""
    return set(sql.execute("SELECT block, cell_key FROM trial"))


def measured_s(sql: sqlite3.Connection) -> float:
    """Seconds that all trials took."""
    (seconds,) = sql.execute("SELECT total(duration_s) FROM trial").fetchone()
    return float(seconds)


def figures(sql: sqlite3.Connection, headline: Mapping[str, str]) -> dict[str, dict[int, float]]:
    """Values by cell key and block of trials that are ok, outside warm-up blocks; ``headline`` is
    the metric of each measurement."""
    found: dict[str, dict[int, float]] = {}
    query = (
        "SELECT t.cell_key, t.block, m.value "
        "FROM trial t JOIN metric m ON m.trial_id = t.id "
        "WHERE t.measurement = ? AND m.metric = ? AND m.labels = '{}' "
        "AND t.status = 'ok' AND t.block > 0 ORDER BY t.id"
    )
    for measurement, metric in headline.items():
        for name in spellings(metric):
            for key, block, value in sql.execute(query, (measurement, name)):
                found.setdefault(key, {})[block] = value
    return found


def parts(sql: sqlite3.Connection, block: int, keys: Iterable[str]) -> list[Part]:
    """The parts of a block with these keys."""
    return [part for key in keys for part in _parts(sql, block, key)]


def _parts(sql: sqlite3.Connection, block: int, key: str) -> Iterator[Part]:
    place = "SELECT id, evidence FROM trial WHERE block = ? AND cell_key = ?"
    for number, evidence in sql.execute(place, (block, key)).fetchall():
        metrics = sql.execute(
            "SELECT metric, unit, value, labels FROM metric WHERE trial_id = ? ORDER BY id",
            (number,),
        )
        yield Part(
            tuple(map(str, from_json(evidence).get(PART, ()))),
            tuple(
                Metric(renamed(name), unit, value, from_json(labels))
                for name, unit, value, labels in metrics
            ),
        )
