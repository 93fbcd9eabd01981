"""When a run can end: the cells are as precise as requested, its questions are answered.

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

Open = Mapping[str, Collection[str]]
"""Questions that more repetitions may answer, by name, with the keys of the cells they need."""


@dataclass(frozen=True)
class OpenQuestions:
    """The claims without a verdict, and the figures whose VPNs have no order yet."""

    claims: Open = field(default_factory=dict)
    ranks: Open = field(default_factory=dict)

    @property
    def cells(self) -> set[str]:
        """The keys of all cells that they need."""
        return {key for part in (self.claims, self.ranks) for keys in part.values() for key in keys}


class StopReason(StrEnum):
    """Why a run ended, or that it continues."""

    GO_ON = "goes on"
    PRECISE = "every interval is as narrow as requested"
    SETTLED = "more repetitions make no further interval as narrow as requested"
    CLAIMS = "every claim that its data can test is decided"
    RANKS = "every order of VPNs that its data can decide is decided"
    QUESTIONS = "every claim and every order of VPNs that its data can decide is decided"
    BLOCKS = "all blocks are measured"
    BUDGET = "the time is used up"
    NOTHING = "no cell can be measured"

    @classmethod
    def _missing_(cls, value: object) -> StopReason | None:
        """The words of older journals."""
        return cls.CLAIMS if value == "every claim is decided" else None


@dataclass(frozen=True)
class Decision:
    """``cells`` is the precision of each cell; ``open`` are the questions without an answer;
    ``resting`` are cells that need no more trials."""

    reason: StopReason
    cells: Mapping[str, Precision] = field(default_factory=dict)
    open: OpenQuestions = field(default_factory=OpenQuestions)
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
    asked: OpenQuestions | None = None,
) -> Decision:
    """Whether the rule is fulfilled.

    ``values`` has, by cell key, the figure of each trial that counted. A cell without an entry
    (all its trials failed or are unsupported) is not waited for; without cells the run
    does not wait. ``looks`` are the rule's (``Plan.looks``); ``most`` is how many trials a cell
    gets at most; ``asked`` are the questions still open.
    """
    asked = asked or OpenQuestions()
    cells: dict[str, Precision] = {}
    fulfilled = []
    needed: set[str] = set()
    if rule.half_width is not None:
        cells = precision_of(values, rule.half_width, looks=looks, most=most)
        needed = {key for key, cell in cells.items() if not cell.state.settled}
        fulfilled.append(not needed)
    if rule.half_width is None or rule.every:
        needed = needed | asked.cells
    if rule.claims:
        fulfilled.append(not asked.claims)
    if rule.ranks:
        fulfilled.append(not asked.ranks)
    done = all(fulfilled) if rule.every else any(fulfilled)
    reason = _reason(rule, cells, asked) if done else StopReason.GO_ON
    return Decision(reason, cells, asked, frozenset(values.keys() - needed))


def _reason(rule: StopRule, cells: Mapping[str, Precision], asked: OpenQuestions) -> StopReason:
    claims, ranks = rule.claims and not asked.claims, rule.ranks and not asked.ranks
    if claims and ranks:
        return StopReason.QUESTIONS
    if claims:
        return StopReason.CLAIMS
    if ranks:
        return StopReason.RANKS
    if all(cell.state is PrecisionState.PRECISE for cell in cells.values()):
        return StopReason.PRECISE
    return StopReason.SETTLED
