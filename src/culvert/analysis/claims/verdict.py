"""The verdict on a claim, with its evidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

ALPHA = 0.05
"""The probability that any claim of the study is decided wrongly, over all looks of the plan; those
that a column answers apart, which has its own."""


class Verdict(StrEnum):
    """The verdicts."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"
    NOT_MEASURED = "not measured"
    """The run has ended without a trial of its cells, such as one with ``--only``."""


WITHOUT_TEST = (Verdict.NOT_TESTABLE, Verdict.NOT_MEASURED)


@dataclass(frozen=True)
class ClaimEffect:
    """The left side relative to the right side, with a 95 % interval.

    A ratio (left over right) if both are above zero, else a difference in the metric's unit.
    """

    value: float
    low: float
    high: float
    ratio: bool


@dataclass(frozen=True)
class Lack:
    """Why there is no value: of one VPN's cell, or of none in particular."""

    why: str
    vpn: str = ""
    unmeasured: bool = False
    """The run has no trial of it."""

    def __str__(self) -> str:
        return f"{self.vpn}: {self.why}" if self.vpn else self.why


def joined(lacks: Iterable[Lack]) -> str:
    """VPNs that lack a value for the same reason, in one place."""
    vpns: dict[str, list[str]] = {}
    for lack in lacks:
        vpns.setdefault(lack.why, []).append(lack.vpn)
    return "; ".join(
        str(Lack(why, ", ".join(dict.fromkeys(filter(None, whose))))) for why, whose in vpns.items()
    )


@dataclass(frozen=True)
class Part:
    """One comparison of a claim in one context.

    ``p_supports`` and ``p_contradicts`` are small if the data support or contradict it; both None
    if it could not be tested, with the reason in ``lack``. ``by_column``: they are those of the
    column that compares the two, adjusted there. ``n`` counts blocks if the trials are paired, else
    the trials of the shorter series. ``more`` repetitions would decide.
    """

    text: str
    condition: str
    parameters: str
    effect: ClaimEffect | None = None
    p_supports: float | None = None
    p_contradicts: float | None = None
    n: int = 0
    paired: bool = False
    more: int | None = None
    drifts: bool = False
    by_column: bool = False
    waiting: bool = False
    """Not tested yet: more trials are planned."""
    lack: Lack | None = None


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict. ``p_value`` is adjusted over the claims of the study (Holm).

    ``why`` is the reason for a missing verdict. ``telling`` is the part that decides the verdict.
    ``more`` None with the verdict undecided: no number of repetitions would decide.
    """

    id: str
    text: str
    source: str
    place: str
    test: str
    metric: str
    unit: str
    verdict: Verdict
    p_value: float | None
    telling: Part | None
    parts: tuple[Part, ...]
    more: int | None
    why: str

    @property
    def decided(self) -> bool:
        """Whether there is a verdict, or none is possible here."""
        return self.verdict is not Verdict.UNDECIDED

    @property
    def hopeless(self) -> bool:
        """Undecided, and no number of repetitions would help."""
        return not self.decided and self.more is None
