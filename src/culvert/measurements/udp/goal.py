"""The goal of a search for NDR and PDR: its parameters, its metrics, and what limited it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from culvert.measurements.base import BaseParameters
from culvert.measurements.udp.search import Bounds, Limit, SearchPlan, SearchTrial, limit
from culvert.metrics import MetricSpec
from culvert.proof.limits import GENERATOR, RECEIVER, Ceiling
from culvert.results import Metric, Series, measured
from culvert.trial.check import Check
from culvert.trial.session import Session
from culvert.units import DurationS, Fraction

GOAL_METRICS = (
    MetricSpec("search_trials", "trials", "Trials of the search"),
    MetricSpec("search_s", "s", "Duration of the search"),
    MetricSpec("goal_duration_sum_s", "s", "Goal of the search: duration sum"),
    MetricSpec("goal_width_ratio", "1", "Goal of the search: relative width"),
    MetricSpec("goal_exceed_ratio", "1", "Goal of the search: exceed ratio"),
)


class SearchParameters(BaseParameters):
    """Parameters of a search."""

    pdr_loss: Annotated[Fraction, Field(gt=0, lt=1)] = 0.005
    """Loss that the PDR allows."""
    trial_s: Annotated[DurationS, Field(ge=0.05)] = Field(1.0, alias="trial")
    """Duration of one trial of the search."""
    duration_sum_s: Annotated[DurationS, Field(gt=0)] = Field(2.5, alias="duration_sum")
    """Duration of all trials that decide about a rate."""
    width: Annotated[Fraction, Field(ge=0.001, le=0.5)] = 0.02
    """Width of the final interval, relative to its upper end."""
    exceed_ratio: Annotated[Fraction, Field(ge=0, lt=1)] = 0.5
    """Share of the trials' time that may be bad at a rate that still counts as good."""
    search_max_s: Annotated[DurationS, Field(gt=0)] = Field(300.0, alias="search_max")
    """Longest duration of the search."""

    def plan(self, max_pps: float) -> SearchPlan:
        return SearchPlan(
            loss_ratios=(0.0, self.pdr_loss),
            max_pps=max_pps,
            trial_s=self.trial_s,
            duration_sum_s=self.duration_sum_s,
            relative_width=self.width,
            search_max_s=self.search_max_s,
            exceed_ratio=self.exceed_ratio,
        )


def goal_metrics(parameters: SearchParameters, trials: Sequence[SearchTrial]) -> list[Metric]:
    """The goal, and what the search took."""
    values = {
        "search_trials": len(trials),
        "search_s": sum(trial.duration_s for trial in trials),
        "goal_duration_sum_s": parameters.duration_sum_s,
        "goal_width_ratio": parameters.width,
        "goal_exceed_ratio": parameters.exceed_ratio,
    }
    return measured(GOAL_METRICS, values)


def search_series(trials: Sequence[SearchTrial]) -> list[Series]:
    """Rate and loss of each trial."""
    number = list(range(len(trials)))
    return [
        Series("search_rate_pps", "packets/s", number, [trial.rate_pps for trial in trials]),
        Series("search_loss_ratio", "1", number, [trial.bad_ratio for trial in trials]),
    ]


def search_checks(
    session: Session, ndr: Bounds, pdr: Bounds, trials: Sequence[SearchTrial], ceiling: Ceiling
) -> list[Check]:
    """A result exists, and the path limited it."""
    return [
        Check(
            "a rate with little loss exists",
            pdr.forwarded_pps is not None,
            f"with at most {100 * pdr.loss_ratio:g} % lost: "
            + (
                f"{pdr.forwarded_pps:,.0f} packets/s"
                if pdr.forwarded_pps
                else "not even the lowest rate"
            ),
            "the path loses packets at every rate: allow more loss with pdr_loss",
        ),
        *[
            check
            for name, bounds in (("NDR", ndr), ("PDR", pdr))
            for check in _limits(session, name, limit(bounds, trials, ceiling), ceiling)
        ],
    ]


def _limits(session: Session, name: str, found: Limit, ceiling: Ceiling) -> list[Check]:
    """The baseline is the instrument's ceiling by definition, so its checks always pass."""
    baseline = session.vpn.outer_flow is None
    limited_by = f"{name}: the rates above it are limited by {found}"
    own = f"the generator reaches {ceiling.sent_pps:,.0f} packets/s on the bare link"
    return [
        Check(
            f"{GENERATOR} ({name})",
            found is not Limit.GENERATOR or baseline,
            f"{limited_by}; {own}",
            "the tunnel is at least as fast as the generator: measure larger packets",
            {"limit": found, "ceiling_pps": ceiling.sent_pps},
        ),
        Check(
            f"{RECEIVER} ({name})",
            found is not Limit.RECEIVER or baseline,
            limited_by,
            "the receiver was slower than the tunnel: give the nodes a core each",
            {"limit": found},
        ),
    ]
