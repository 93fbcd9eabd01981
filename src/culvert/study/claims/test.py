"""What a claim's test compares: sides, their relations, and the cells that they refer to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum


@dataclass(frozen=True)
class Where:
    """The cells that a side refers to. ``condition`` None: every condition. ``parameters`` holds
    canonical JSON by key; other parameters may have any value. ``labels`` are the metric's."""

    condition: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class VpnSide:
    """The metric of one VPN."""

    vpn: str
    where: Where

    def __str__(self) -> str:
        return self.vpn


@dataclass(frozen=True)
class BestOf:
    """The best of several VPNs; the metric determines whether more or less is better."""

    vpns: tuple[VpnSide, ...]

    def __str__(self) -> str:
        return "best of " + ", ".join(map(str, self.vpns))


@dataclass(frozen=True)
class Quantity:
    """``value`` is in the unit of the metric; ``text`` is as written in the claim."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text


Side = VpnSide | BestOf | Quantity


class Relation(StrEnum):
    """The relation of the left side to the right side."""

    MORE = ">"
    LESS = "<"
    AT_LEAST = ">="
    AT_MOST = "<="
    WITHIN = "within"
    SAME = "no different from"


@dataclass(frozen=True)
class ClaimComparison:
    """``factor`` multiplies the right side of AT_LEAST and AT_MOST; ``by`` is the least difference
    of MORE and LESS; ``share`` is the tolerance of WITHIN, relative to the right side."""

    left: Side
    relation: Relation
    right: Side
    factor: float = 1.0
    by: Quantity | None = None
    share: float = 0.0

    def __str__(self) -> str:
        match self.relation:
            case Relation.AT_LEAST | Relation.AT_MOST:
                return f"{self.left} {self.relation} {self.factor:g} x {self.right}"
            case Relation.WITHIN:
                return f"{self.left} within {self.share * 100:g}% of {self.right}"
            case _:
                by = f" by {self.by}" if self.by is not None else ""
                return f"{self.left} {self.relation} {self.right}{by}"


@dataclass(frozen=True)
class ClaimTest:
    """All comparisons must hold. ``unit`` is the metric's; empty if unknown."""

    measurement: str
    metric: str
    unit: str
    comparisons: tuple[ClaimComparison, ...]

    def moved(self, move: Callable[[Where], Where]) -> ClaimTest:
        """The test with ``move`` applied to the cells of every side."""
        comparisons = tuple(
            replace(one, left=_moved(one.left, move), right=_moved(one.right, move))
            for one in self.comparisons
        )
        return replace(self, comparisons=comparisons)

    @property
    def vpns(self) -> tuple[VpnSide, ...]:
        """Every VPN that is compared, each once."""
        found = dict.fromkeys(
            side
            for one in self.comparisons
            for both in (one.left, one.right)
            for side in (both.vpns if isinstance(both, BestOf) else (both,))
            if isinstance(side, VpnSide)
        )
        return tuple(found)


def _moved(side: Side, move: Callable[[Where], Where]) -> Side:
    match side:
        case VpnSide(vpn, where):
            return VpnSide(vpn, move(where))
        case BestOf(vpns):
            return BestOf(tuple(VpnSide(one.vpn, move(one.where)) for one in vpns))
        case _:
            return side
