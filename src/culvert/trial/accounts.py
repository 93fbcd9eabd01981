"""The accounting of a trial as part of its outcome: metrics, withheld figures, marks."""

from __future__ import annotations

from collections.abc import Mapping

from culvert.probe.results import Accounted
from culvert.trial.cpu import cpu_figures
from culvert.trial.outcome import Outcome
from culvert.trial.surroundings import surroundings_of


def add_accounts(
    outcome: Outcome,
    accounted: Mapping[str, Accounted],
    *,
    shared_kernel: bool,
    attributable: bool,
) -> None:
    """Add what both ends of a path used; parameters as ``cpu_figures`` takes them."""
    used = cpu_figures(
        accounted,
        goodput_bytes=outcome.goodput_bytes,
        shared_kernel=shared_kernel,
        attributable=attributable,
    )
    around = surroundings_of(accounted, shared_kernel=shared_kernel)
    outcome.metrics += [*used.metrics, *around.metrics]
    outcome.withheld += used.withheld
    outcome.marks += around.marks
