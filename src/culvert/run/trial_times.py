"""Durations of trials on this machine, kept for the estimates of later runs."""

from __future__ import annotations

import json
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from culvert import tools
from culvert.plan.cells import Cell

FILE = "trial-times.json"
MOST_KEPT = 5000
OVERHEAD_S = 0.5
"""Overhead of a trial (lab, tunnel, proof, removal) before any trial was timed on this machine."""


@dataclass(frozen=True)
class TrialTimes:
    """Median seconds: ``whole`` trials by cell, and their ``overhead``, the time outside the
    measurement, by VPN."""

    whole: Mapping[str, float] = field(default_factory=dict)
    overhead: Mapping[str, float] = field(default_factory=dict)

    def expected_s(self, cell: Cell, measuring_s: float) -> float:
        """A trial with its overhead; ``measuring_s`` is the measurement's own estimate."""
        known = self.whole.get(_key(cell))
        if known is not None:
            return known
        return measuring_s + self.overhead.get(cell.vpn, OVERHEAD_S)


def learned() -> TrialTimes:
    """The times kept on this machine; empty if they cannot be read."""
    try:
        content = json.loads(_path().read_text(encoding="utf-8"))
        return TrialTimes(
            {str(key): float(value) for key, value in content["whole"].items()},
            {str(key): float(value) for key, value in content["overhead"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return TrialTimes()


class Stopwatch:
    """Collects the times of a run's trials."""

    def __init__(self) -> None:
        self._whole: dict[str, list[float]] = defaultdict(list)
        self._overhead: dict[str, list[float]] = defaultdict(list)

    def note(self, cell: Cell, duration_s: float, measuring_s: float) -> None:
        """Add the times of a trial."""
        self._whole[_key(cell)].append(duration_s)
        self._overhead[cell.vpn].append(duration_s - measuring_s)

    def median_s(self, cell: Cell) -> float | None:
        """The median of the cell's trials so far."""
        known = self._whole.get(_key(cell))
        return statistics.median(known) if known else None

    def keep(self) -> None:
        """Add them to the times kept on this machine. A write error is ignored."""
        if not self._whole:
            return
        old = learned()
        whole, overhead = _newest(old.whole, self._whole), _newest(old.overhead, self._overhead)
        path = _path()
        new = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps({"whole": whole, "overhead": overhead}), encoding="utf-8")
            new.replace(path)
        except OSError:
            new.unlink(missing_ok=True)


def _newest(old: Mapping[str, float], new: Mapping[str, list[float]]) -> dict[str, float]:
    medians = {key: statistics.median(times) for key, times in new.items()}
    kept = {key: value for key, value in old.items() if key not in medians} | medians
    return dict(list(kept.items())[-MOST_KEPT:])


def _key(cell: Cell) -> str:
    return f"{cell.vpn} {cell.condition} {cell.measurement} {cell.parameters}"


def _path() -> Path:
    return tools.tools_directory() / FILE
