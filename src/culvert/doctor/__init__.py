"""The features of this machine, those that are missing, and the remedy for each."""

from culvert.doctor.examine import examine, ready
from culvert.doctor.show import render, to_json
from culvert.machine import features
from culvert.machine.check import FeatureCheck, FeatureGroup, FeatureStatus

__all__ = [
    "FeatureCheck",
    "FeatureGroup",
    "FeatureStatus",
    "examine",
    "features",
    "ready",
    "render",
    "to_json",
]
