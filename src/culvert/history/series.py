"""From the summaries of runs to series: one per machine, cell and metric, and its changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl

from culvert.analysis.compare.verdict import Change
from culvert.analysis.declared import better_of
from culvert.analysis.observations import CONTEXT
from culvert.history.order import Order
from culvert.json_text import read_json
from culvert.metrics import Better
from culvert.statistics.change_points import SHORTEST, change_points
from culvert.statistics.values import Array
from culvert.study.vpn_id import BASELINE

ALPHA = 0.05
"""The probability that any series of a machine's study has a change if none changed."""
NEAR = 2
"""The place of a change is uncertain by about so many runs."""
VERSION = "version of the VPN"

_Key = tuple[str, ...]
SERIES = ("study", "machine", "vpn", *CONTEXT, "metric", "unit")

POINTS = ("run", "started_at", "version", "n", "median", "low", "high")


@dataclass(frozen=True)
class Beside:
    """A fact that changed near a change. ``runs``: so many runs after it (before it: negative).
    ``elsewhere``: so many times it changed where the series did not."""

    name: str
    before: str
    after: str
    runs: int
    elsewhere: int


@dataclass(frozen=True)
class Shift:
    """A new level, from the point at ``place`` on. ``before``, ``after``: medians of the levels.
    ``machine``: the link without a VPN changed there too, in the same metric."""

    place: int
    before: float
    after: float
    change: Change
    beside: tuple[Beside, ...]
    machine: bool


@dataclass(frozen=True)
class Series:
    """``points``: POINTS, in the order of the series. ``levels``: the median of each level."""

    study: str
    machine: str
    vpn: str
    condition: str
    measurement: str
    parameters: str
    metric: str
    unit: str
    points: pl.DataFrame
    levels: tuple[float, ...]
    shifts: tuple[Shift, ...]


def series_of(runs: pl.DataFrame, cells: pl.DataFrame, order: Order) -> list[Series]:
    """All series of the summaries: by study, machine, cell, metric; VPNs beside the baseline.

    ``runs`` and ``cells`` as ``Tables`` has them.
    """
    found: list[Series] = []
    for _, own in runs.sort("started_at", "run").group_by("study", "machine", maintain_order=True):
        ordered = _ordered(own, cells, order)
        long = sum(len(one.values) >= 2 * SHORTEST for one in ordered.values())
        alpha = ALPHA / max(1, long)
        places = {key: change_points(one.values, alpha) for key, one in ordered.items()}
        for key, one in ordered.items():
            beside = (*key[:2], BASELINE, *key[3:])
            moved = (
                _moments(ordered[beside], places[beside])
                if beside in ordered and beside != key
                else set()
            )
            found.append(_series(key, one, places[key], moved))
    names = ("study", "machine", *CONTEXT, "metric")
    found.sort(
        key=lambda one: (*(getattr(one, name) for name in names), one.vpn != BASELINE, one.vpn)
    )
    return found


@dataclass(frozen=True)
class _Ordered:
    """The points of one series; ``facts`` has a number for each set of facts, of ``texts``."""

    points: pl.DataFrame
    values: Array
    facts: Array
    texts: Sequence[str]


def _ordered(runs: pl.DataFrame, cells: pl.DataFrame, order: Order) -> dict[_Key, _Ordered]:
    """The series of the runs of one study and machine, which are in the order of time."""
    texts = runs["facts"].unique(maintain_order=True).to_list()
    facts = runs["facts"].replace_strict(texts, range(len(texts)), return_dtype=pl.Int64).to_numpy()
    places = runs.select("id").with_row_index("place")
    names = cells.select("series", *SERIES[2:]).unique("series")
    # Millions of rows: numbers are sorted, and texts are gathered for each series alone.
    points = cells.drop(SERIES[2:]).join(places, on="id").sort("series", "place")
    ends = points["series"].rle().struct.field("len").cum_sum().to_list()
    of = {number: key for number, *key in names.iter_rows()}
    found: dict[_Key, _Ordered] = {}
    for begin, end in pairwise([0, *ends]):
        part = order.of(points[begin:end])
        at = part["place"].to_numpy()
        key = (*runs.select("study", "machine").row(0), *of[points["series"][begin]])
        shown = part.with_columns(runs["run"][at], runs["started_at"][at]).select(POINTS)
        found[key] = _Ordered(shown, part["median"].to_numpy(), facts[at], texts)
    return found


def _moments(series: _Ordered, places: Sequence[int]) -> set[str]:
    """The runs near a series' changes."""
    runs = series.points["run"].to_list() if places else []
    return {run for place in places for run in runs[max(0, place - NEAR) : place + NEAR + 1]}


def _series(key: _Key, series: _Ordered, places: Sequence[int], moved: set[str]) -> Series:
    levels = _levels(series.values, places)
    changes = _changes(series) if places else {}
    direction = better_of(key[6], key[4])
    shifts = tuple(
        Shift(
            place,
            before,
            after,
            _change(before, after, direction),
            tuple(_beside(changes, place, places)),
            series.points["run"][place] in moved,
        )
        for place, (before, after) in zip(places, pairwise(levels), strict=True)
    )
    named = dict(zip(SERIES, key, strict=True))
    return Series(**named, points=series.points, levels=tuple(levels), shifts=shifts)


def _levels(values: Array, places: Sequence[int]) -> list[float]:
    return [float(np.median(values[a:b])) for a, b in pairwise([0, *places, len(values)])]


def _change(before: float, after: float, direction: Better) -> Change:
    if direction is Better.NEITHER:
        return Change.CHANGED
    return Change.FASTER if (after > before) == (direction is Better.MORE) else Change.SLOWER


_Changes = dict[int, dict[str, tuple[str, str]]]


def _changes(series: _Ordered) -> _Changes:
    """Where facts differ from those of the point before: name, and both texts."""
    versions = series.points["version"]
    other = (versions != versions.shift(1)).fill_null(value=False).to_numpy().copy()
    other[1:] |= np.diff(series.facts) != 0
    found: _Changes = {}
    for place in map(int, np.flatnonzero(other)):
        before, after = (series.texts[int(series.facts[at])] for at in (place - 1, place))
        changed = dict(_difference(before, after))
        if versions[place - 1] != versions[place]:
            changed = {VERSION: (versions[place - 1], versions[place])} | changed
        found[place] = changed
    return found


@cache
def _difference(before: str, after: str) -> Mapping[str, tuple[str, str]]:
    was, is_ = read_json(before), read_json(after)
    names = [*is_, *(name for name in was if name not in is_)]
    return {
        name: (was.get(name, "not known"), is_.get(name, "not known"))
        for name in names
        if was.get(name) != is_.get(name)
    }


def _beside(changes: _Changes, place: int, places: Sequence[int]) -> Iterator[Beside]:
    """Those nearest to the change first; of one distance, those that changed seldom elsewhere."""
    near = [one for one in changes if abs(one - place) <= NEAR]
    far = [one for one in changes if all(abs(one - other) > NEAR for other in places)]
    found = [
        Beside(name, *texts, one - place, sum(name in changes[other] for other in far))
        for one in near
        for name, texts in changes[one].items()
    ]
    yield from sorted(found, key=lambda one: (abs(one.runs), one.elsewhere, one.name != VERSION))
