"""A check is one question that a sceptic asks of a trial, with its answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One question, whether the answer is good, and the figures behind the answer."""

    name: str
    passed: bool
    detail: str
    remedy: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Withheld:
    """Metrics that are not given because they contradict others, and the figures of that."""

    metrics: tuple[str, ...]
    reason: str


@dataclass
class Evidence:
    """What a trial carries to prove itself.

    ``underlay`` has, by node, what the kernel says of its end of the link; ``vpn`` what the driver
    says of the variant (cipher, MTU ...).
    """

    checks: list[Check] = field(default_factory=list)
    underlay: dict[str, Any] = field(default_factory=dict)
    vpn: dict[str, str] = field(default_factory=dict)
    topology: dict[str, Any] = field(default_factory=dict)
    """The nodes, networks and paths that were measured."""
    withheld: list[Withheld] = field(default_factory=list)

    @property
    def proved(self) -> bool:
        """True if there are checks and every one of them passed."""
        return bool(self.checks) and all(check.passed for check in self.checks)

    @property
    def first_failure(self) -> Check | None:
        """The first check that did not pass."""
        return next((check for check in self.checks if not check.passed), None)

    def as_json(self) -> dict[str, Any]:
        """For the journal."""
        return {
            "proved": self.proved,
            "checks": [asdict(check) for check in self.checks],
            "underlay": self.underlay,
            "vpn": self.vpn,
            **({"topology": self.topology} if self.topology else {}),
            **({"withheld": [asdict(each) for each in self.withheld]} if self.withheld else {}),
        }
