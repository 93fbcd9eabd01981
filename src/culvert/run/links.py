"""The links of a run, verified before each block: an impaired one must deliver what was requested.

On a busy machine a link may not do so for seconds: if it does not, it is verified again before the
next trial that needs it, a few times in a block. What a real link is like is measured once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from culvert.journal.journal import Journal
from culvert.journal.record import TrialRecord
from culvert.json_text import read_json
from culvert.labs.passage import PASSAGES, UNKNOWN
from culvert.plan.plan import Cell, Trial
from culvert.plan.schedule import Place
from culvert.results import Status
from culvert.run.outlook.expected import LinkOf, emulated, verification_of
from culvert.run.trials.finding import TrialFinding
from culvert.trial.check import Evidence

Passages = dict[tuple[str, str], Mapping[str, str]]
"""Device, gateway, source and TTL by the names of both nodes, the one that sends first."""
POSITION = 0
"""Position of a verification in its block: before all trials."""
REFUTED = "/refuted-"
"""Follows the key of a verification after which the link is verified again, and a number."""
ATTEMPTS = 3
"""Verifications of a link in a block, until it is as requested."""


def passages_of(underlay: Mapping[str, Any]) -> Passages:
    """From the evidence of a trial; empty without real links."""
    return {
        (name, other): passage
        for name, facts in underlay.items()
        if isinstance(facts, Mapping)
        for other, passage in facts.get(PASSAGES, {}).items()
    }


def changes(since: int, before: Passages, now: Passages) -> list[str]:
    """A sentence for each direction that is not as in block ``since``; what is unknown in one of
    them has not changed."""
    found = []
    for ends in before.keys() & now.keys():
        old, new = before[ends], now[ends]
        different = [
            f"{key} {old[key]}, now {new[key]}"
            for key in old.keys() & new.keys()
            if old[key] != new[key] and UNKNOWN not in (old[key], new[key])
        ]
        if different:
            source, target = ends
            what = "; ".join(sorted(different))
            found.append(f"the path changed since block {since}: {source} to {target}: {what}")
    return sorted(found)


class Underlays:
    """The verdicts on the links of a run, by block and condition."""

    def __init__(self, link_of: LinkOf, journal: Journal, *, real: bool = False) -> None:
        """``real``: links are as they are, so that each condition's is measured."""
        self._real = real
        self._link_of = link_of
        self._journal = journal
        self._verdicts: dict[tuple[int, str], TrialFinding] = {}
        self._again: set[tuple[int, str]] = set()
        """Those that are to be verified again before the next trial."""
        self._refuted: set[Place] = set()
        self._passages: dict[str, tuple[int, Passages]] = {}

    def verify(
        self,
        trial: Trial,
        done: Collection[Place],
        execute: Callable[[Trial], TrialFinding],
    ) -> TrialRecord | None:
        """Measure the link that the trial is about to use, unless that was done in its block. If a
        host was lost then, or the link was not as requested, it is measured again.

        Returns the record to keep.
        """
        place = trial.block, trial.cell.condition
        known = self._verdicts.get(place)
        if known is not None and not (known.evidence.host_lost or place in self._again):
            return None
        if not self._real and not emulated(self._link_of, trial.cell.condition):
            return None
        cell = verification_of(trial.cell.condition)
        if (trial.block, cell.key) in done:
            self._verdicts[place] = self._recalled(trial.block, cell)
            return None
        started_at, begun = datetime.now(UTC), time.monotonic()
        verification = Trial(trial.block, POSITION, cell)
        finding = execute(verification)
        self._compare_paths(trial, finding)
        refuted = f"{cell.key}{REFUTED}"
        earlier = sum(
            block == trial.block and key.startswith(refuted)
            for block, key in {*done, *self._refuted}
        )
        again = finding.status is Status.INVALID and not self._real and earlier < ATTEMPTS - 1
        self._verdicts[place] = finding
        self._again.discard(place)
        record = finding.record(verification, started_at, time.monotonic() - begun)
        if again:
            self._again.add(place)
            key = f"{refuted}{earlier + 1}"
            self._refuted.add((trial.block, key))
            record = replace(record, cell_key=key)
        return record

    def _compare_paths(self, trial: Trial, finding: TrialFinding) -> None:
        """Note where the paths of packets differ from those in the block before."""
        now = passages_of(finding.evidence.underlay)
        if not now:
            return
        condition = trial.cell.condition
        before = self._passages.get(condition) or self._passages_before(trial)
        if before is not None:
            finding.evidence.notes += changes(*before, now)
        self._passages[condition] = trial.block, now

    def _passages_before(self, trial: Trial) -> tuple[int, Passages] | None:
        """Block and paths of the last verification in the journal of an interrupted run."""
        key = verification_of(trial.cell.condition).key
        trials = self._journal.trials()
        found = trials.filter((pl.col("cell") == key) & (pl.col("block") < trial.block))
        for row in reversed(found.rows(named=True)):
            if passages := passages_of(read_json(row["evidence"]).get("underlay", {})):
                return int(row["block"]), passages
        return None

    def objection(self, trial: Trial) -> TrialFinding | None:
        """A finding for the trial if its link failed the verification: the trial cannot count."""
        verdict = self._verdicts.get((trial.block, trial.cell.condition))
        if verdict is None or verdict.status is Status.OK:
            return None
        host_lost = verdict.evidence.host_lost
        as_it_is = host_lost or verdict.status is Status.UNSUPPORTED
        return TrialFinding(
            verdict.status if as_it_is else Status.INVALID,
            reason=f"not measured, because of the underlay in this block: {verdict.reason}",
            remedy=verdict.remedy,
            evidence=Evidence(host_lost=host_lost),
        )

    def _recalled(self, block: int, cell: Cell) -> TrialFinding:
        """The verdict in the journal of an interrupted run."""
        trials = self._journal.trials()
        found = trials.filter((pl.col("block") == block) & (pl.col("cell") == cell.key))
        row = found.row(-1, named=True)
        status = Status(row["status"])
        return TrialFinding(status, reason=row["reason"], remedy=row["remedy"])
