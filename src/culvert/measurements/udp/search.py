"""The search for the highest rate at which no more than a given share of packets is lost.

MLRsearch (FD.io CSIT; draft-ietf-bmwg-mlrsearch) searches for several loss ratios at once. Several
short trials decide about a rate, and some of them may be bad: one trial disturbed by a rekey or by
the machine does not spoil the search. The measurer is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from culvert.errors import ProbeError
from culvert.proof.limits import Ceiling

if TYPE_CHECKING:
    from MLRsearch import MeasurementResult

PRECEDING_TARGETS = 2
"""Number of coarser searches with shorter trials that come first."""
SHORTEST_TRIAL_S = 0.1
LEAST_PACKETS = 20
"""With fewer packets a trial has no usable loss ratio."""
RANGE = 10_000
"""The lowest rate that is tried is the highest divided by this."""


@dataclass(frozen=True)
class SearchTrial:
    """One trial at one rate. Counts are packets.

    ``scheduled`` should have been offered, ``offered`` were, ``forwarded`` arrived meanwhile, at
    ``forwarded_pps``; ``socket_drops`` arrived when the receiver's socket was full.
    """

    rate_pps: float
    duration_s: float
    scheduled: int
    offered: int
    forwarded: int
    forwarded_pps: float
    socket_drops: int = 0

    @property
    def lost(self) -> int:
        """Packets that were not forwarded: those that came out of a queue too late as well."""
        return max(self.offered - self.forwarded, 0)

    @property
    def bad_ratio(self) -> float:
        """Share of the scheduled packets that were not offered, or were not forwarded."""
        whole = max(self.scheduled, self.offered)
        return (self.lost + max(self.scheduled - self.offered, 0)) / whole if whole else 0.0


Measure = Callable[[float, float], SearchTrial]
"""Measure once: packets per second, seconds."""


@dataclass(frozen=True)
class SearchPlan:
    """What to search for. ``relative_width`` is that of the final interval; ``exceed_ratio`` the
    share of the trials' time that may be bad at a rate that still counts as good."""

    loss_ratios: tuple[float, ...]
    max_pps: float
    trial_s: float
    duration_sum_s: float
    relative_width: float
    search_max_s: float
    exceed_ratio: float = 0.5

    @property
    def min_pps(self) -> float:
        least = LEAST_PACKETS / self.trial_s
        return min(max(self.max_pps / RANGE, least), self.max_pps / 2)


@dataclass(frozen=True)
class Bounds:
    """The final interval for one loss ratio, in offered packets per second.

    ``lower_pps`` None: even the lowest rate lost more. ``upper_pps`` None: even the highest rate
    lost no more. ``forwarded_pps`` is the forwarded rate at ``lower_pps`` (conditional throughput):
    what is carried, where a queue or the allowed loss carries less than is offered.
    """

    loss_ratio: float
    lower_pps: float | None
    upper_pps: float | None
    forwarded_pps: float | None

    @property
    def width(self) -> float | None:
        """Width of the interval, relative to its upper end."""
        if self.lower_pps is None or self.upper_pps is None:
            return None
        return 1 - self.lower_pps / self.upper_pps


class Limit(StrEnum):
    """The part that limits the rate."""

    PATH = "the path"
    GENERATOR = "the generator"
    RECEIVER = "the receiver's socket"


class _Measurer:
    """What MLRsearch calls; keeps every trial."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.trials: list[SearchTrial] = []

    def measure(self, intended_duration: float, intended_load: float) -> MeasurementResult:
        from MLRsearch import MeasurementResult  # noqa: PLC0415

        trial = self._measure(intended_load, intended_duration)
        self.trials.append(trial)
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=max(trial.scheduled, trial.offered),
            offered_count=trial.offered,
            loss_count=trial.lost,
        )


def search(measure: Measure, plan: SearchPlan) -> tuple[list[Bounds], list[SearchTrial]]:
    """Bounds in the order of ``plan.loss_ratios``, and every trial.

    Raises ProbeError if the search does not end within ``plan.search_max_s``.
    """
    # Imported here: it takes a second, and every command imports all measurements.
    from MLRsearch import Config, MultipleLossRatioSearch, SearchGoal  # noqa: PLC0415

    goals = [
        SearchGoal(
            loss_ratio=ratio,
            exceed_ratio=plan.exceed_ratio,
            relative_width=plan.relative_width,
            initial_trial_duration=min(SHORTEST_TRIAL_S, plan.trial_s),
            final_trial_duration=plan.trial_s,
            duration_sum=max(plan.duration_sum_s, plan.trial_s),
            preceding_targets=PRECEDING_TARGETS,
            fail_fast=False,
        )
        for ratio in plan.loss_ratios
    ]
    config = Config()
    config.min_load = plan.min_pps
    config.max_load = plan.max_pps
    config.goals = goals
    config.search_duration_max = plan.search_max_s
    config.warmup_duration = None
    measurer = _Measurer(measure)
    try:
        found = MultipleLossRatioSearch(config).search(measurer, debug=lambda _: None)
    except RuntimeError as error:
        raise ProbeError(
            "search for throughput",
            f"{error} ({len(measurer.trials)} trials, at most {plan.search_max_s:g} s)",
            "raise search_max, or search with a larger width",
        ) from error
    trials = measurer.trials
    return [_bounds(goal.loss_ratio, found[goal], trials) for goal in goals], trials


def _bounds(ratio: float, result: object, trials: Sequence[SearchTrial]) -> Bounds:
    def rate(name: str) -> float | None:
        load = getattr(result, name)
        return None if load is None else float(load)

    lower_pps = rate("relevant_lower_bound")
    good = [one for one in trials_at(lower_pps, trials) if one.bad_ratio <= ratio]
    # Each is a lower bound of what the path carries: a pause of the machine only lowers it.
    forwarded_pps = max((one.forwarded_pps for one in good), default=None)
    return Bounds(ratio, lower_pps, rate("relevant_upper_bound"), forwarded_pps)


def trials_at(rate_pps: float | None, trials: Sequence[SearchTrial]) -> list[SearchTrial]:
    """Those at one rate."""
    return [one for one in trials if rate_pps and abs(one.rate_pps / rate_pps - 1) < 1e-6]


def limit(bounds: Bounds, trials: Sequence[SearchTrial], ceiling: Ceiling) -> Limit:
    """The limit of the trials just above the interval, by majority of their time.

    If packets were not offered at a rate well below the generator's ceiling on the bare link, the
    limit was the tunnel, not the generator.
    """
    if bounds.upper_pps is None:  # all offered packets arrived, or the tunnel was the limit
        return Limit.GENERATOR if ceiling.near(bounds.lower_pps or 0.0) else Limit.PATH
    causes: dict[Limit, float] = dict.fromkeys(Limit, 0.0)
    for trial in trials_at(bounds.upper_pps, trials):
        if trial.bad_ratio > bounds.loss_ratio:
            causes[_cause(trial, bounds.loss_ratio, ceiling)] += trial.duration_s
    whole = sum(causes.values())
    return next(
        (
            limit
            for limit in (Limit.GENERATOR, Limit.RECEIVER)
            if whole and causes[limit] > whole / 2
        ),
        Limit.PATH,
    )


def _cause(trial: SearchTrial, ratio: float, ceiling: Ceiling) -> Limit:
    allowed = ratio * max(trial.scheduled, trial.offered)
    if trial.lost <= allowed and ceiling.near(trial.rate_pps):
        return Limit.GENERATOR
    if trial.lost > allowed >= trial.lost - trial.socket_drops:
        return Limit.RECEIVER
    return Limit.PATH
