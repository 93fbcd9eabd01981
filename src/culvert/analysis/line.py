"""The line between kernel and user space; in some guests figures are not comparable across it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Line:
    """``why``: the reason that speeds on both sides are not comparable, empty if they are;
    ``sides`` maps a VPN's id to the name of its side. The baseline is on the kernel's: no program
    touches its packets."""

    why: str = ""
    sides: Mapping[str, str] = field(default_factory=dict)

    def crossed(self, vpns: Iterable[str]) -> bool:
        """Whether these are on different sides. A VPN with an unknown data path has its own
        side."""
        return bool(self.why) and len({self.sides.get(vpn, f"? {vpn}") for vpn in vpns}) > 1

    def objection(self, vpns: Iterable[str], *, constant: bool = False) -> str:
        """Why these get no verdict; empty if they may get one. ``constant``: against a fixed
        quantity, which was not measured in such a guest."""
        named = sorted(set(vpns))
        if self.crossed(named):
            shown = ", ".join(f"{vpn}: {self.sides.get(vpn, 'unknown')}" for vpn in named)
            return f"{self.why} ({shown})"
        return f"{self.why}, nor with a fixed figure" if self.why and constant else ""


NO_LINE = Line()
"""For a machine whose figures are all comparable."""

_BASELINES_PATH, _KERNELS = "none", "kernel"


def line_of(why: str, data_paths: Mapping[str, str]) -> Line:
    """The line in results with that label (empty: there is none); ``data_paths`` maps a VPN's id
    to the data path that its trials proved, none for the baseline."""
    if not why:
        return NO_LINE
    sides = {vpn: _KERNELS if path == _BASELINES_PATH else path for vpn, path in data_paths.items()}
    return Line(why, sides)
