"""When a run can end: the cells are as precise as requested, the claims are decided.

The rule "ci <= 2%" requires that half the width of the 95 % interval of the median of each cell is
at most 2 % of that median, usually written +-2 %. The interval is a repeated one: testing after
every block and stopping at the first narrow interval would pick those that miss the truth. A cell
that drifts, or that would need more repetitions than the plan has, is not waited for, and not
reported as precise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from culvert.plan.precision import Precision, PrecisionState, precision_of
from culvert.statistics.looks import ONCE, Looks
from culvert.study.blocks import StopRule

OpenClaims = Mapping[str, Collection[str]]
"""Claims that more repetitions may decide, with the keys of the cells that they need."""


class StopReason(StrEnum):
    """Why a run ended, or that it continues."""

    GO_ON = "goes on"
    PRECISE = "every interval is as narrow as requested"
    SETTLED = "more repetitions make no further interval as narrow as requested"
    CLAIMS = "every claim that its data can test is decided"
    BLOCKS = "all blocks are measured"
    BUDGET = "the time is used up"
    NOTHING = "no cell can be measured"

    @classmethod
    def _missing_(cls, value: object) -> StopReason | None:
        """The words of older journals."""
        return cls.CLAIMS if value == "every claim is decided" else None


@dataclass(frozen=True)
class Decision:
    """``cells`` is the precision of each cell; ``claims`` are those still open, with the cells
    that they need; ``resting`` are cells that need no more trials."""

    reason: StopReason
    cells: Mapping[str, Precision] = field(default_factory=dict)
    claims: OpenClaims = field(default_factory=dict)
    resting: frozenset[str] = frozenset()

    @property
    def stop(self) -> bool:
        return self.reason is not StopReason.GO_ON

    @property
    def imprecise(self) -> dict[str, Precision]:
        """Cells that are less precise than requested, for any reason."""
        return {
            k: cell for k, cell in self.cells.items() if cell.state is not PrecisionState.PRECISE
        }


def decide(
    rule: StopRule,
    values: Mapping[str, Sequence[float]],
    *,
    looks: Looks = ONCE,
    most: int | None = None,
    claims: OpenClaims | None = None,
) -> Decision:
    """Whether the rule is fulfilled.

    ``values`` has, by cell key, the figure of each trial that counted. A cell without an entry
    (all its trials failed or are unsupported) is not waited for; without cells the run
    does not wait. ``looks`` are the rule's (``Plan.looks``); ``most`` is how many trials a cell
    gets at most; ``claims`` are those still open.
    """
    claims = claims or {}
    cells: dict[str, Precision] = {}
    if rule.half_width is not None:
        cells = precision_of(values, rule.half_width, looks=looks, most=most)
    settled = {key for key, cell in cells.items() if cell.state.settled}
    wanted = {key for needed in claims.values() for key in needed}
    idle = {key for key in values if key not in wanted}
    if rule.half_width is None:
        resting, done = idle, not claims
    elif not rule.claims:
        resting, done = settled, len(settled) == len(cells)
    elif rule.both:
        resting, done = settled & idle, len(settled) == len(cells) and not claims
    else:
        resting, done = settled, len(settled) == len(cells) or not claims
    reason = _reason(rule, cells, claims) if done else StopReason.GO_ON
    return Decision(reason, cells, claims, frozenset(resting))


def _reason(rule: StopRule, cells: Mapping[str, Precision], claims: OpenClaims) -> StopReason:
    if rule.claims and not claims:
        return StopReason.CLAIMS
    if all(cell.state is PrecisionState.PRECISE for cell in cells.values()):
        return StopReason.PRECISE
    return StopReason.SETTLED
