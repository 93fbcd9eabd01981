"""The line between kernel and user space, across which some guests' figures say nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """``why`` speeds on both sides do not compare, empty where they do; ``sides`` maps a VPN's id
    to the name of its side. The baseline is on the kernel's: no program touches its packets."""

    why: str = ""
    sides: Mapping[str, str] = field(default_factory=dict)

    def crossed(self, vpns: Iterable[str]) -> bool:
        """Whether these stand on both sides. One that nobody knows stands on a side of its own."""
        return bool(self.why) and len({self.sides.get(vpn, f"? {vpn}") for vpn in vpns}) > 1

    def objection(self, vpns: Iterable[str], *, constant: bool = False) -> str:
        """Why these get no verdict; empty where they may. ``constant``: against a fixed quantity,
        which is of no such guest."""
        named = sorted(set(vpns))
        if self.crossed(named):
            told = ", ".join(f"{vpn}: {self.sides.get(vpn, 'unknown')}" for vpn in named)
            return f"{self.why} ({told})"
        return f"{self.why}, nor with a fixed figure" if self.why and constant else ""


NO_LINE = Line()
"""Of a machine whose figures all compare."""

_BASELINES_PATH, _KERNELS = "none", "kernel"


def line_of(why: str, data_paths: Mapping[str, str]) -> Line:
    """The line in results with that label (empty: there is none); ``data_paths`` maps a VPN's id
    to the data path that its trials proved, none for the baseline."""
    if not why:
        return NO_LINE
    sides = {vpn: _KERNELS if path == _BASELINES_PATH else path for vpn, path in data_paths.items()}
    return Line(why, sides)
