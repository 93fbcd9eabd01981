"""What was done from outside to processes and devices that an ``accounting`` task observed."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from culvert.probe.results.base import Result


class Meddling(StrEnum):
    """The kinds of interference."""

    STOPPED = "stopped"
    TRACED = "traced"
    FROZEN = "frozen"
    THROTTLED = "throttled"
    """By the quota of a control group that the probe is not in."""
    THROTTLED_TOGETHER = "throttled_together"
    """By the quota of a control group that the probe is in as well."""
    MOVED = "moved"
    LIMITED = "limited"
    AFFINITY = "affinity"
    PRIORITY = "priority"
    DEVICE_DOWN = "device_down"
    NO_CARRIER = "no_carrier"
    MTU = "mtu"
    SETTINGS = "settings"
    ADDRESS = "address"
    ROUTE = "route"
    QUEUE = "queue"
    FIREWALL = "firewall"


class ObservedProcess(Result):
    """A process, under the name of the one that it descends from."""

    label: str
    pid: int


class OfProcess(Result):
    """Something was done to a process."""

    process: ObservedProcess


class OfDevice(Result):
    """Something was done to a device."""

    device: str


class Episode(Result):
    """One interference. ``detail`` is the group, the value or the address; ``by`` the process that
    did it, if the kernel reports one. ``lasted_ns`` of a quota is the time without a processor."""

    kind: Meddling
    subject: OfProcess | OfDevice | Literal["node"]
    detail: str
    start_ns: int
    lasted_ns: int
    by: str | None = None


class Interference(Result):
    """All of them, and what the observation covered.

    ``unseen`` is what could not be observed, with reasons. ``longest_gap_ns``: a shorter stop may
    have been missed. ``cpu_ns``: what the observation itself used.
    """

    started_ns: int
    processes: int
    devices: int
    looks: int
    longest_gap_ns: int
    cpu_ns: int
    unseen: list[str] = []
    episodes: list[Episode] = []
    left_out: int = 0
