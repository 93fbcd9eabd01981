"""What a metric is: its name, unit and title, which way is better, and where it is shown."""

from culvert.metrics.column import Column, Effect
from culvert.metrics.every_trial import CPU_S_PER_GB, EVERY_TRIAL
from culvert.metrics.spec import Better, MetricSpec, Weight, family

__all__ = [
    "CPU_S_PER_GB",
    "EVERY_TRIAL",
    "Better",
    "Column",
    "Effect",
    "MetricSpec",
    "Weight",
    "family",
]
