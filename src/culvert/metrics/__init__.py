"""Declarations of metrics: name, unit, title, better direction, and where they are shown."""

from culvert.metrics.every_trial import CPU_S_PER_GB, EVERY_TRIAL
from culvert.metrics.headline_column import Effect, HeadlineColumn
from culvert.metrics.spec import Better, MetricSpec, Weight, family

__all__ = [
    "CPU_S_PER_GB",
    "EVERY_TRIAL",
    "Better",
    "Effect",
    "HeadlineColumn",
    "MetricSpec",
    "Weight",
    "family",
]
