"""Plans: when each cell is measured, and when a run ends. Pure: no clock, no files."""

from culvert.plan.cells import Cell
from culvert.plan.plan import Plan, TimeEstimate, Trial
from culvert.plan.schedule import Schedule
from culvert.plan.stopping import Decision, StopReason, decide

__all__ = [
    "Cell",
    "Decision",
    "Plan",
    "Schedule",
    "StopReason",
    "TimeEstimate",
    "Trial",
    "decide",
]
