"""A comparison as JSON, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from culvert.analysis.compare.comparison import Comparison
from culvert.compare.outcome import CompareOutcome
from culvert.compare.side import Side
from culvert.results import Parameters


def document(outcome: CompareOutcome) -> dict[str, Any]:
    """All results, in the journal's units."""
    sides = (("a", outcome.a), ("b", outcome.b))
    return {
        "a": _side(outcome.a[0]),
        "b": _side(outcome.b[0]),
        "runs": {name: [_side(one) for one in side] for name, side in sides},
        "tolerance": outcome.tolerance,
        "alpha": outcome.alpha,
        "paired": outcome.paired,
        "regressed": outcome.regressed,
        "undecided": outcome.undecided,
        "counts": {str(change): count for change, count in outcome.counts.items()},
        "gate": [asdict(one) | {"outcome": str(one.outcome)} for one in outcome.gate],
        "advice": outcome.advice,
        "warnings": list(outcome.warnings),
        "comparisons": [_comparison(one) for one in outcome.found],
        "absent": [
            asdict(one) | {"parameters": Parameters(one.parameters).values}
            for one in outcome.absent
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "directory": str(side.directory),
        "vpn": side.vpn,
        "study": side.run.study,
        "started_at": side.run.started_at,
        "culvert_version": side.run.culvert_version,
        "versions": side.versions,
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    entry = asdict(one)
    entry["parameters"] = Parameters(one.parameters).values
    entry["labels"] = Parameters(one.labels).values
    entry["direction"] = str(one.direction)
    entry["change"] = str(one.change)
    return entry
