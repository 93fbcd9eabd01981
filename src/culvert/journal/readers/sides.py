"""One test as its two programs recorded it: the client's file and the server's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from culvert.journal.readers.foreign_run import ForeignRun, Side
from culvert.results import Metric, Series, Status

T = TypeVar("T", bound=Metric | Series)


def joined(runs: Sequence[ForeignRun]) -> tuple[list[ForeignRun], list[str]]:
    """The runs, those that two sides recorded once, and which ones these are.

    Only one run of each side makes a pair: with more of them the identity was replaced, as in files
    that were made anonymous.
    """
    tests: defaultdict[tuple[str, str, object], list[ForeignRun]] = defaultdict(list)
    for run in runs:
        if run.test:
            direction = run.parameters.get("direction")
            tests[run.test, run.measurement, direction].append(run)
    kept: dict[int, ForeignRun | None] = {}
    notes: list[str] = []
    for views in tests.values():
        if len(views) == 2 and {run.side for run in views} == set(Side):
            client, server = sorted(views, key=lambda run: run.side is Side.SERVER)
            kept[id(client)], kept[id(server)] = _joined(client, server), None
            notes.append(
                f"{server.file}:{server.line} is the server of {client.file}:{client.line}"
            )
    found = [kept.get(id(run), run) for run in runs]
    return [run for run in found if run is not None], notes


def _joined(client: ForeignRun, server: ForeignRun) -> ForeignRun:
    """The client's run with the figures of both: each of the side that counted it itself, which is
    the receiver's where both have it. The options, the name and the time are the client's."""
    counted, other = (server, client) if server.received else (client, server)
    if counted.status is not Status.OK and other.status is Status.OK:
        counted, other = other, counted
    return replace(
        client,
        status=counted.status,
        reason=counted.reason,
        duration_s=counted.duration_s,
        metrics=_each(counted.metrics, other.metrics),
        series=_each(counted.series, other.series),
        reported={
            **client.reported,
            "server_file": server.file,
            "server_line": server.line,
            **{f"server_{key}": value for key, value in server.reported.items() if key != "side"},
            **({"other_side": other.reason} if other.reason else {}),
        },
        note=counted.note,
    )


def _each(first: Sequence[T], then: Sequence[T]) -> list[T]:
    """One of each name and labels, of the first that has it."""
    found: dict[tuple[str, str], T] = {}
    for one in (*first, *then):
        found.setdefault((one.name, repr(sorted(one.labels.items()))), one)
    return list(found.values())
