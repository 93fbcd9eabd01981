"""The verdicts of ``quick``: as soon as its rule says, against twenty repetitions of everything.

One run measures all twenty blocks. Its trials are then given to the plan of ``quick`` one by one,
as they were measured, until it stops; their times are added up. Each plan judges its own trials:
that of twenty blocks looks once, at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from bench.goal import Goal, Samples
from bench.goals.quick import VPNS
from bench.study_run import run_study
from culvert.analysis.claims.judge import judge
from culvert.analysis.line import NO_LINE
from culvert.journal.journal import Journal
from culvert.plan.plan import Plan
from culvert.plan.schedule import Schedule
from culvert.plan.stopping import OpenQuestions
from culvert.run.questions import open_questions
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

BLOCKS = 20
THIRD = 1 / 3


class QuickVerdicts(Goal):
    """Share of the time of twenty repetitions that ``quick`` takes to its verdicts."""

    name: ClassVar[str] = "quick-verdicts"
    what: ClassVar[str] = "time of quick to its verdicts, of 20 repetitions"
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = "at most a third, the same verdicts"
    vpns: ClassVar[tuple[str, ...]] = VPNS

    def __init__(self) -> None:
        self._same = False

    def measure(self) -> Samples:
        """Once: it takes a quarter of an hour."""
        quick, fixed = editions()
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            file, out = Path(directory) / "quick.toml", Path(directory) / "run"
            file.write_text(fixed.text)
            run_study(file, out, "--scale", "fixed")
            with Journal.open(out) as journal:
                found = replay(quick, fixed, journal.trials(), journal.rows())
        print(f"  stopped: {found.stopped}")
        for claim, (early, late) in found.verdicts.items():
            print(f"  {claim}: {early}; after {BLOCKS} blocks: {late}")
        self._same = all(early == late for early, late in found.verdicts.values())
        return Samples(ours=[found.share])

    def met(self, samples: Samples) -> bool:
        """Both parts of it."""
        return samples.ours[0] <= THIRD and self._same


def editions() -> tuple[Study, Study]:
    """``quick``, and the same with twenty repetitions: its scale "fixed"."""
    catalogue = installed_catalogue()
    text = Study.load("quick", catalogue).text + f"\n[scale.fixed]\nblocks = {BLOCKS}\n"
    return Study.parse(text, catalogue), Study.parse(text, catalogue, scale="fixed")


@dataclass(frozen=True)
class Replayed:
    """``share`` of the time, why it stopped, and each claim's early and late verdict."""

    share: float
    stopped: str
    verdicts: Mapping[str, tuple[str, str]]


def replay(quick: Study, fixed: Study, trials: pl.DataFrame, rows: pl.DataFrame) -> Replayed:
    """What the plan of ``quick`` would have made of a run of ``fixed``, which measured more.

    Raises ValueError if a trial of the run is missing: it was ended early.
    """
    took = {
        (row["block"], row["cell"]): (row["trial"], row["duration_s"])
        for row in trials.iter_rows(named=True)
    }
    plan = Plan.of(quick)
    measured: set[int] = set()
    spent_s = 0.0

    def seen(block: int = BLOCKS) -> pl.DataFrame:
        return rows.filter(pl.col("trial").is_in(list(measured)), pl.col("block") <= block)

    def asked(block: int) -> OpenQuestions:
        return open_questions(quick, plan, seen(block), NO_LINE)

    schedule = Schedule(
        plan,
        frozenset(),
        elapsed_s=lambda: spent_s,
        values=lambda: _every(plan),
        unsupported=frozenset,
        asked=asked,
    )
    for trial in schedule:
        if (trial.block, trial.cell.key) not in took:
            raise ValueError(f"the run has no trial of {trial.cell.vpn} in block {trial.block}")
        number, seconds = took[trial.block, trial.cell.key]
        measured.add(number)
        spent_s += seconds
    early = {one.id: str(one.verdict) for one in judge(quick, seen())}
    late = {one.id: str(one.verdict) for one in judge(fixed, rows)}
    return Replayed(
        spent_s / sum(seconds for _, seconds in took.values()),
        str(schedule.decision.reason),
        {claim: (early[claim], late[claim]) for claim in early},
    )


def _every(plan: Plan) -> dict[str, dict[int, float]]:
    """The rule of quick considers its questions alone: it needs only that there are figures."""
    return {cell.key: {1: 1.0} for cell in plan.cells}
