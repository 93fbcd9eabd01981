"""A history for programs, as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from culvert.history.outcome import History
from culvert.history.series import ALPHA, SERIES, Series
from culvert.results import Parameters


def document(history: History) -> dict[str, Any]:
    """Values in the journal's units. ``place`` counts points from 0."""
    return {
        "runs": history.runs,
        "order": str(history.order),
        "alpha": ALPHA,
        "unread": [{"run": str(one.what), "why": one.why} for one in history.unread],
        "series": [of_series(one) for one in history.series],
    }


def of_series(series: Series) -> dict[str, Any]:
    """One series with its points and changes."""
    found = {name: getattr(series, name) for name in SERIES}
    found["parameters"] = Parameters(series.parameters).values
    found["shifts"] = [asdict(one) for one in series.shifts]
    found["points"] = series.points.to_dicts()
    return found
