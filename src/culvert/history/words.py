"""A history in words and numbers for people: the terminal and the site say the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from culvert.analysis.declared import title_of
from culvert.history.series import ALPHA, NEAR, VERSION, Beside, Series, Shift
from culvert.report.labels import Labels, short_version
from culvert.report.numbers import Scale, percent, scale_for
from culvert.units import plural

NO_SHIFT = "no change found"
MOST_BESIDE = 6
METHOD = (
    f"A new level has at least five runs. If nothing changed, the probability that any series of a "
    f"study and machine has a change is {percent(ALPHA)}. Its place is uncertain by about {NEAR} "
    f"runs: facts of the machine that changed near it are candidates, not causes."
)
CONTROL = "the link without a VPN changed too: the machine has changed"


def labels_of(series: Sequence[Series]) -> Labels:
    """Names of the cells of one study."""
    names = ("condition", "measurement", "parameters")
    cells = [tuple(getattr(one, name) for name in names) for one in series]
    return Labels(pl.DataFrame(cells, schema=dict.fromkeys(names, pl.String), orient="row"))


@dataclass(frozen=True)
class WordedShift:
    """One change as texts. ``beside`` has the rest of a long list as its last text."""

    when: str
    run: str
    change: str
    levels: str
    beside: tuple[str, ...]


def scale_of(series: Series) -> Scale:
    """One unit for the whole series."""
    return scale_for(series.unit, series.levels)


def metric_title(series: Series) -> str:
    """As the report calls it."""
    return title_of(series.metric, series.measurement)


def shifts_of(series: Series) -> list[WordedShift]:
    """Every change, the newest first."""
    scale, points = scale_of(series), series.points
    return [
        WordedShift(
            points["started_at"][one.place][:10],
            points["run"][one.place],
            str(one.change),
            f"{scale.text(one.before)} \u2192 {scale.text(one.after)}{_ratio(one)}",
            _beside(one),
        )
        for one in reversed(series.shifts)
    ]


def _ratio(shift: Shift) -> str:
    if shift.before <= 0:
        return ""
    sign = "+" if shift.after >= shift.before else "\u2212"
    return f" ({sign}{percent(abs(shift.after / shift.before - 1))})"


def _beside(shift: Shift) -> tuple[str, ...]:
    told = [_fact(one) for one in shift.beside[:MOST_BESIDE]]
    if len(shift.beside) > MOST_BESIDE:
        told.append(f"{len(shift.beside) - MOST_BESIDE} more facts: --json")
    return (*((CONTROL,) if shift.machine else ()), *told)


def _fact(one: Beside) -> str:
    before, after = one.before, one.after
    if one.name == VERSION:
        before, after = short_version(before), short_version(after)
    if before == after:
        before, after = one.before, one.after
    words = f"{one.name}: {_short(before)} \u2192 {_short(after)}"
    if one.runs:
        words += f", {plural(abs(one.runs), 'run')} {'later' if one.runs > 0 else 'earlier'}"
    if one.elsewhere:
        words += f" (and at {one.elsewhere} other times without a change)"
    return words


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}\u2026"
