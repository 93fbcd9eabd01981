"""What this machine can do, what it can't, and the remedy for each."""

from culvert.doctor import features
from culvert.doctor.check import Check, Group, Status
from culvert.doctor.examine import examine, ready
from culvert.doctor.show import render, to_json

__all__ = ["Check", "Group", "Status", "examine", "features", "ready", "render", "to_json"]
