"""A check of a trial: a condition that must hold, the result, and the figures behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from culvert.journal.marks import HOST_LOST, MARKS, NOTES, Mark


@dataclass(frozen=True)
class Check:
    """One condition, whether it holds, and the figures behind the result."""

    name: str
    passed: bool
    detail: str
    remedy: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def failure(self) -> str:
        """The words for one that failed: the name alone states what should have been."""
        return f"check failed: {self.name}: {self.detail}"


@dataclass(frozen=True)
class Crossing(Check):
    """That traffic came through. If it did not, and the link dropped packets as the condition
    requests, the path has failed, and not the measuring; ``of_the_vpn``: then too if it did not."""

    of_the_vpn: bool = False


@dataclass(frozen=True)
class Withheld:
    """Metrics that are withheld because they contradict others, and the reason with its figures."""

    metrics: tuple[str, ...]
    reason: str


@dataclass
class Evidence:
    """The evidence that a trial is valid.

    ``underlay`` has, by node, the kernel's state of its end of the link; ``vpn`` the driver's facts
    of the variant (cipher, MTU ...).
    """

    checks: list[Check] = field(default_factory=list)
    underlay: dict[str, Any] = field(default_factory=dict)
    vpn: dict[str, str] = field(default_factory=dict)
    topology: dict[str, Any] = field(default_factory=dict)
    """The nodes, networks and paths that were measured."""
    withheld: list[Withheld] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """Bounds of the surroundings that were exceeded: the trial counts, and is marked."""
    notes: list[str] = field(default_factory=list)
    """What differs from the block before: the trial counts."""
    observed: bool = True
    """Whether the path of the traffic was looked at; in a cluster only with --prove."""
    host_lost: bool = False
    """A host could not be reached (any more): a resumed run repeats the trial."""

    @property
    def proved(self) -> bool:
        """True if there are checks, all of them passed, and the path of the traffic is one."""
        return self.observed and bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def first_failure(self) -> Check | None:
        """The first check that did not pass."""
        return next((check for check in self.checks if not check.passed), None)

    def as_json(self) -> dict[str, Any]:
        """The evidence in JSON's types, for the journal."""
        return {
            "proved": self.proved,
            "checks": [asdict(check) for check in self.checks],
            "underlay": self.underlay,
            "vpn": self.vpn,
            **({"topology": self.topology} if self.topology else {}),
            **({"withheld": [asdict(each) for each in self.withheld]} if self.withheld else {}),
            **({MARKS: [asdict(each) for each in self.marks]} if self.marks else {}),
            **({NOTES: list(self.notes)} if self.notes else {}),
            **({HOST_LOST: True} if self.host_lost else {}),
        }
