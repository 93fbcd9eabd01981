"""A comparison in words, the same for the terminal, Markdown and JUnit."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from culvert.analysis.compare.comparison import Comparison
from culvert.analysis.compare.verdict import SCATTERS, Change
from culvert.compare.outcome import Outcome
from culvert.report.labels import Labels, parsed
from culvert.report.numbers import decimals_for, grouped, scale_for
from culvert.report.sentences import joined
from culvert.report.versions import short_version

_ENOUGH = 10
"""With fewer trials that a series is correlated is no more than a guess."""


_MOST_PERCENT = 99_900
"""A thousand times: beyond it no interval tells anything."""


@dataclass(frozen=True)
class Line:
    """One comparison as text."""

    vpn: str
    cell: str
    metric: str
    before: str
    after: str
    change: str
    """``\u22124.9 % [\u22126.0, \u22123.8]``; empty where there is no ratio."""
    verdict: Change
    note: str
    control: bool


def lines(outcome: Outcome) -> list[Line]:
    """Every comparison, in the order in which it is told."""
    labels = _labels(outcome)
    return [_line(one, labels) for one in outcome.found]


def heading(outcome: Outcome) -> list[tuple[str, str]]:
    """What A and B are."""
    return [("A", _side(outcome, 0)), ("B", _side(outcome, 1))]


def summary(outcome: Outcome) -> str:
    """``1 slower, 3 same within 3 %, 2 cannot tell``."""
    share = _percent(outcome.tolerance)
    parts = []
    for change, count in outcome.counts.items():
        if count:
            words = f"same within {share}" if change is Change.SAME else str(change)
            parts.append(f"{count} {words}")
    return ", ".join(parts) or "only the link without a VPN was compared"


def method(outcome: Outcome) -> str:
    """How it was decided, in a sentence."""
    how = "block by block" if outcome.paired else "run against run"
    return (
        f"B against A, {how}, with 95 % intervals that allow for correlated trials. "
        f"Different: at most {_percent(outcome.alpha)} false alarms in all (Holm), and beyond "
        f"{_percent(outcome.tolerance)}. Same: within {_percent(outcome.tolerance)} "
        "(two one-sided tests)."
    )


def missing(outcome: Outcome) -> list[str]:
    """Cells that one side lacks, those of several VPNs in one sentence."""
    labels = _labels(outcome)
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in outcome.absent:
        cell = labels.cell(one.condition, one.measurement, one.parameters)
        found.setdefault((one.side, cell, one.why), []).append(one.vpn)
    return [
        f"not in {side}: {cell} of {joined(vpns)} ({why})"
        for (side, cell, why), vpns in found.items()
    ]


def signed_percent(ratio: float, low: float, high: float) -> str:
    """A ratio as a change, with no more digits than its interval bears."""
    width = 100 * (high - low)
    places = min(2, decimals_for(width, 2)) if width > 0 else 1
    middle, *ends = (_signed(100 * (value - 1), places) for value in (ratio, low, high))
    return f"{middle} % [{', '.join(ends)}]"


def _labels(outcome: Outcome) -> Labels:
    cells = ("condition", "measurement", "parameters")
    return Labels(pl.concat([side.rows.select(cells) for side in (outcome.a, outcome.b)]))


def _side(outcome: Outcome, index: int) -> str:
    side = (outcome.a, outcome.b)[index]
    versions = [
        f"{vpn} {short_version(version)}" if short_version(version) != vpn else vpn
        for vpn, version in side.versions.items()
    ]
    told = f" ({', '.join(versions)})" if versions else ""
    return f"{side.name}, {side.run.started_at[:16].replace('T', ' ')} UTC{told}"


def _line(one: Comparison, labels: Labels) -> Line:
    scale = scale_for(one.unit, [value for value in (one.median_a, one.median_b) if value])
    change = ""
    if one.ratio is not None and one.low is not None and one.high is not None:
        change = signed_percent(one.ratio, one.low, one.high)
    named = [f"{key}={value}" for key, value in parsed(one.labels).items()]
    return Line(
        vpn=one.vpn,
        cell=labels.cell(one.condition, one.measurement, one.parameters),
        metric=" ".join([one.metric, *named]),
        before=scale.text(one.median_a),
        after=scale.text(one.median_b),
        change=change,
        verdict=one.change,
        note=_note(one),
        control=one.control,
    )


def _note(one: Comparison) -> str:
    parts = [one.why] if one.why and not (one.more and one.why == SCATTERS) else []
    if one.more:
        unit = "block" if one.paired else "trial a side"
        many = "blocks" if one.paired else "trials a side"
        parts.append(f"about {one.more} more {unit if one.more == 1 else many}")
    n = min(one.n_a, one.n_b)
    if one.effective is not None and n >= _ENOUGH and one.correlated:
        parts.append(f"correlated: {n} trials are worth {one.effective:.0f}")
    return "; ".join(parts)


def _signed(value: float, places: int) -> str:
    if value > _MOST_PERCENT:
        return f"over +{grouped(_MOST_PERCENT, 0)}"
    text = grouped(round(value, places), max(0, places))
    return text if value < 0 or not text.strip("0.\u202f") else f"+{text}"


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
