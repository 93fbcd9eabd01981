"""Declarations of metrics: name, unit, title, better direction, and where they are shown."""

from culvert.metrics.every_trial import CPU_S_PER_GB, EVERY_TRIAL
from culvert.metrics.spec import Better, Effect, HeadlineColumn, MetricSpec, Weight, family

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
