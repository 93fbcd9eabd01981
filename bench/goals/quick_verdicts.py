"""The verdicts of ``quick``: as soon as its rule says, against twenty repetitions of everything.

One run measures all twenty blocks. Its trials are then given to the plan of ``quick`` one by one,
as they were measured, until it stops; their times are added up.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from bench.goal import Goal, Samples
from bench.goals.quick import VPNS
from culvert.analysis.claims.judge import judge
from culvert.journal.journal import Journal
from culvert.plan.plan import Plan
from culvert.plan.schedule import Schedule
from culvert.plan.stopping import OpenClaims
from culvert.run.claim_cells import cells_of_claim
from culvert.study.installed import installed_catalogue
from culvert.study.study import Study

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
        """Once: it takes twenty minutes."""
        study = Study.load("quick", installed_catalogue())
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            fixed = Path(directory) / "fixed.toml"
            fixed.write_text(f"{_without_blocks(study.text)}\n[plan]\nblocks = {BLOCKS}\n")
            culvert = Path(sys.executable).with_name("culvert")
            words = [str(culvert), "run", str(fixed), "--out", f"{directory}/run", "--json"]
            subprocess.run(words, check=False, stdout=subprocess.DEVNULL)
            with Journal.open(Path(directory) / "run") as journal:
                found = replay(study, journal.trials(), journal.rows())
        for claim, (early, late) in found.verdicts.items():
            print(f"  {claim}: {early}; after {BLOCKS} blocks: {late}")
        self._same = all(early == late for early, late in found.verdicts.values())
        return Samples(ours=[found.share])

    def met(self, samples: Samples) -> bool:
        """Both parts of it."""
        return samples.ours[0] <= THIRD and self._same


@dataclass(frozen=True)
class Replayed:
    """``share`` of the time, and for each claim its early and its late verdict."""

    share: float
    verdicts: dict[str, tuple[str, str]]


def replay(study: Study, trials: pl.DataFrame, rows: pl.DataFrame) -> Replayed:
    """What the study's own plan would have made of a run that measured more."""
    took = {
        (row["block"], row["cell"]): (row["trial"], row["duration_s"])
        for row in trials.iter_rows(named=True)
    }
    plan = Plan.of(study)
    measured: set[int] = set()
    spent_s = 0.0

    def seen(block: int = BLOCKS) -> pl.DataFrame:
        return rows.filter(pl.col("trial").is_in(list(measured)), pl.col("block") <= block)

    def claims(block: int) -> OpenClaims:
        judged = judge(study, seen(block))
        waiting = [one.id for one in judged if not one.decided and not one.hopeless]
        return {name: cells_of_claim(study, plan, name) for name in waiting}

    schedule = Schedule(
        plan, frozenset(), elapsed_s=lambda: spent_s, values=lambda: _every(plan), claims=claims
    )
    for trial in schedule:
        number, seconds = took[trial.block, trial.cell.key]
        measured.add(number)
        spent_s += seconds
    early = {one.id: str(one.verdict) for one in judge(study, seen())}
    late = {one.id: str(one.verdict) for one in judge(study, rows)}
    return Replayed(
        spent_s / sum(seconds for _, seconds in took.values()),
        {claim: (early[claim], late[claim]) for claim in early},
    )


def _every(plan: Plan) -> dict[str, dict[int, float]]:
    """The rule of quick asks for claims alone: that there are figures is all it needs to know."""
    return {cell.key: {1: 1.0} for cell in plan.cells}


def _without_blocks(text: str) -> str:
    """The study's text without its plan."""
    head, _, tail = text.partition("[plan]")
    return head + tail[tail.index("[[claim]]") :]
