"""The outcome of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from culvert.analysis.status import cause_of
from culvert.journal.record import TrialRecord
from culvert.plan.plan import Cell, Plan
from culvert.plan.stopping import Decision
from culvert.results import Status


@dataclass(frozen=True)
class TrialProblem:
    """Why trials of a VPN do not count, and the remedy; ``cause`` is common to these trials.

    Equality ignores the ``reason``, which is that of the first trial.
    """

    vpn: str
    status: Status
    reason: str = field(compare=False)
    remedy: str
    cause: str = ""

    def as_json(self, trials: int) -> dict[str, Any]:
        shown = {key: value for key, value in asdict(self).items() if key != "cause"}
        return {**shown, "trials": trials}


@dataclass
class Tally:
    """Trials of this session by status, and the problems with the number of trials affected."""

    statuses: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))
    links: dict[Status, int] = field(default_factory=lambda: dict.fromkeys(Status, 0))
    """Those of them that verified a link and are no cell of the study."""
    lacking: int = 0
    """Number of the unsupported trials that the study declares as missing (``[[lacking]]``)."""
    problems: dict[TrialProblem, int] = field(default_factory=dict)
    reasons: dict[TrialProblem, set[str]] = field(default_factory=dict)
    """The different reasons of each problem."""
    hosts_lost: int = 0
    """Number of the trials whose host was lost: a resumed run repeats them."""
    measuring_s: float = 0.0
    elapsed_s: float = 0.0
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    """Requirements of the plan that were not met, one line each."""

    def add(self, record: TrialRecord, *, lacking: bool = False, link: bool = False) -> None:
        self.statuses[record.status] += 1
        self.links[record.status] += link
        self.lacking += lacking
        self.measuring_s += record.measuring_s
        if record.status is not Status.OK:
            cause = cause_of(record.status, record.reason, record.evidence)
            problem = TrialProblem(record.vpn, record.status, record.reason, record.remedy, cause)
            self.problems[problem] = self.problems.get(problem, 0) + 1
            self.reasons.setdefault(problem, set()).add(record.reason)

    @property
    def worst_first(self) -> list[tuple[TrialProblem, int]]:
        """Problems with their numbers of trials: failed and invalid first, then unsupported."""
        return sorted(
            self.problems.items(),
            key=lambda item: (item[0].status is Status.UNSUPPORTED, -item[1]),
        )

    @property
    def common_first(self) -> list[tuple[list[str], TrialProblem, int]]:
        """As ``worst_first``, with the VPNs that have a problem in the same words in one place."""
        groups: dict[tuple[Status, str, str], list[tuple[TrialProblem, int]]] = {}
        for problem, count in self.worst_first:
            words = (problem.status, problem.reason, problem.remedy)
            groups.setdefault(words, []).append((problem, count))
        return [
            ([problem.vpn for problem, _ in group], group[0][0], sum(count for _, count in group))
            for group in groups.values()
        ]

    @property
    def ending(self) -> str:
        """Why the session ended, for the journal."""
        return "\n".join([self.stopped, *self.notes])

    @property
    def measuring_share(self) -> float:
        """Share of the elapsed time spent measuring, 0 to 1."""
        return self.measuring_s / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def exit_code(self) -> int:
        """0: all trials count; 1: a trial failed or is invalid; 3: a trial is unsupported here.

        Cells that the study declares as missing do not count as unsupported, unless no trial is ok.
        """
        if self.statuses[Status.FAILED] or self.statuses[Status.INVALID]:
            return 1
        unsupported = self.statuses[Status.UNSUPPORTED]
        unexpected = unsupported - self.lacking
        return 3 if unexpected or (unsupported and not self.statuses[Status.OK]) else 0


def notes_on(plan: Plan, decision: Decision) -> list[str]:
    """One line for each imprecise cell, and one for the questions of each kind that are open."""
    cells = {cell.key: cell for cell in plan.cells}
    notes = [
        f"{_named(cells[key], plan)} {precision}"
        for key, precision in decision.imprecise.items()
        if key in cells
    ]
    for kind, asked in (("claims", decision.open.claims), ("ranks", decision.open.ranks)):
        if asked:
            notes.append(f"{kind} not decided at the last check: {', '.join(sorted(asked))}")
    return notes


def _named(cell: Cell, plan: Plan) -> str:
    """The cell with the parameters that distinguish it from others of its measurement."""
    own = cell.parameters.values
    others = [
        other.parameters.values for other in plan.cells if other.measurement == cell.measurement
    ]
    differing = [
        f"{key} {value}"
        for key, value in own.items()
        if any(other.get(key) != value for other in others)
    ]
    words = [cell.vpn, cell.measurement, *differing]
    if len({other.condition for other in plan.cells}) > 1:
        words.append(cell.condition)
    return " ".join(words)
