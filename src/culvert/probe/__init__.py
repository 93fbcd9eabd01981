"""The client of ``culvert-probe agent``: JSON lines over the pipes of a process on a node."""

from culvert.probe.client import Probe, Task

__all__ = ["Probe", "Task"]
