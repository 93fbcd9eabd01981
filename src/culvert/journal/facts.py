"""The facts about a run, from the small tables; and what was measured already, for one that goes
on."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from culvert.journal.codec import from_json
from culvert.journal.marks import HOST_LOST, checks_of
from culvert.journal.schema import CONTENT

LOST_A_HOST = f"json_extract(evidence, '$.{HOST_LOST}')"
"""Condition on a trial."""


def run_facts(sql: sqlite3.Connection) -> dict[str, Any]:
    """The row of the run, with its sessions, installations and proved data paths."""
    (run,) = _dicts(sql, "run")
    sessions = _sessions(sql)
    last = sessions[-1] if sessions else {}
    return run | {
        "environment": from_json(run["environment"]),
        "ended_at": last.get("ended_at"),
        "ended_why": last.get("ended_why"),
        "sessions": sessions,
        "installs": _installs(sql),
        "data_paths": _proved_paths(sql),
    }


def _sessions(sql: sqlite3.Connection) -> list[dict[str, Any]]:
    """Each with its regular end, if it had one."""
    endings = {ending["session_id"]: ending for ending in _dicts(sql, "ending")}
    sessions = _dicts(sql, "session", "id")
    for session in sessions:
        ending = endings.get(session["id"], {})
        session["environment"] = from_json(session["environment"])
        session["ended_at"] = ending.get("ended_at")
        session["ended_why"] = ending.get("reason")
    return sessions


def _installs(sql: sqlite3.Connection) -> list[dict[str, Any]]:
    installs = _dicts(sql, "install")
    for install in installs:
        install["changed"], install["ok"] = bool(install["changed"]), bool(install["ok"])
    return installs


def _proved_paths(sql: sqlite3.Connection) -> dict[str, str]:
    """The proved data path, by VPN: that of the first ok trial with such a check.

    Evidence in another form has none.
    """
    found: dict[str, str] = {}
    query = (
        "SELECT vpn, evidence FROM trial "
        "WHERE status = 'ok' AND instr(evidence, '\"data path\"') > 0 ORDER BY id"
    )
    for vpn, evidence in sql.execute(query):
        paths = set() if vpn in found else _data_paths(from_json(evidence))
        if len(paths) == 1:
            found[vpn] = paths.pop()
    return found


def _data_paths(evidence: Mapping[str, Any]) -> set[str]:
    named = (check for check in checks_of(evidence) if check.get("name") == "data path")
    figures = next(named, {}).get("figures")
    return {str(path) for path in figures.values()} if isinstance(figures, dict) else set()


def _dicts(sql: sqlite3.Connection, table: str, *keys: str) -> list[dict[str, Any]]:
    """All rows of a small table: its content, and these columns."""
    columns = (*keys, *CONTENT[table])
    # Names of tables and columns are constants of the schema.
    cursor = sql.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid")  # noqa: S608
    return [dict(zip(columns, row, strict=True)) for row in cursor]


def done(sql: sqlite3.Connection) -> set[tuple[int, str]]:
    """Block and cell key of every trial."""
    return set(sql.execute("SELECT block, cell_key FROM trial"))


def to_repeat(sql: sqlite3.Connection) -> set[tuple[int, str]]:
    """Those of them that lost a host: a resumed run repeats them."""
    query = f"SELECT block, cell_key FROM trial WHERE {LOST_A_HOST}"  # noqa: S608 - a constant
    return set(sql.execute(query))


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
        for key, block, value in sql.execute(query, (measurement, metric)):
            found.setdefault(key, {})[block] = value
    return found
