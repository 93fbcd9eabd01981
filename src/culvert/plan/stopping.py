"""When repeating can stop: the cells are as well known as asked, the claims are decided.

The rule "ci <= 2%" asks that half the width of the 95 % interval of the median of each cell is at
most 2 % of that median, which people write as +-2 %. The interval is a repeated one: testing after
every block and stopping at the first narrow interval would pick those that miss the truth. A cell
that drifts, or that would need more repetitions than the plan has, is not waited for; it is not
called precise either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from culvert.plan.precision import MIN_BLOCKS, Precision, PrecisionState, precision_of
from culvert.statistics.looks import ONCE, Looks
from culvert.study.rule import StopRule

__all__ = ["MIN_BLOCKS", "Decision", "OpenClaims", "StopReason", "decide"]

OpenClaims = Mapping[str, Collection[str]]
"""Claims that more repetitions may decide, with the keys of the cells that they need."""


class StopReason(StrEnum):
    """Why a run ended, or that it goes on."""

    GO_ON = "goes on"
    PRECISE = "every interval is as narrow as asked"
    SETTLED = "more repetitions make no further interval as narrow as asked"
    CLAIMS = "every claim is decided"
    BLOCKS = "all blocks are measured"
    BUDGET = "the time is used up"
    NOTHING = "no cell can be measured"


@dataclass(frozen=True)
class Decision:
    """``cells`` is how well each cell is known; ``claims`` are those still open, with the cells
    that they need; ``resting`` are cells that need no more trials."""

    reason: StopReason
    cells: Mapping[str, Precision] = field(default_factory=dict)
    claims: OpenClaims = field(default_factory=dict)
    resting: frozenset[str] = frozenset()

    @property
    def stop(self) -> bool:
        """True when nothing more is to be measured."""
        return self.reason is not StopReason.GO_ON

    @property
    def half_widths(self) -> dict[str, float | None]:
        """Relative to the median, by cell key; None where no interval exists yet."""
        return {key: cell.half_width for key, cell in self.cells.items()}

    @property
    def open(self) -> tuple[str, ...]:
        """Cells that are waited for."""
        return tuple(key for key, cell in self.cells.items() if not cell.state.settled)

    @property
    def imprecise(self) -> dict[str, Precision]:
        """Cells that are not as well known as asked, whatever the reason."""
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

    ``values`` holds, by cell key, the figure of each trial that counted. A cell without an entry
    (all its trials failed or are unsupported) is not waited for; without any cell there is nothing
    to wait for. ``looks`` are the rule's (``Plan.looks``); ``most`` is how many trials a cell gets
    at most; ``claims`` are those still open.
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
