"""Trials with random faults until the time is over, in one process."""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from culvert.errors import JournalError
from culvert.journal.journal import Journal
from culvert.journal.record import TrialRecord
from tests.journal.dummies import HEAD
from tests.soak.faults import WEIGHTS, Fault
from tests.soak.trials import Soaked, open_files, soak

DISK = "24m"


@dataclass
class Soaking:
    """How many trials there were, how they ended, and what was wrong."""

    trials: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)

    def __add__(self, other: Soaking) -> Soaking:
        return Soaking(
            self.trials + other.trials,
            self.counts + other.counts,
            [*self.complaints, *other.complaints],
        )


def soak_for(seconds: float, ready: Sequence[str], seed: str) -> Soaking:
    """Trials of the ``ready`` variants: each comes once before one comes twice."""
    chance, found, files = random.Random(seed), Soaking(), None
    end = time.monotonic() + seconds
    with _small_disk() as disk, Journal.create(disk / "run", HEAD) as journal:
        while time.monotonic() < end:
            if found.trials % len(ready) == 0:
                order = chance.sample(ready, len(ready))
            (fault,) = chance.choices(list(Fault), weights=[WEIGHTS[each] for each in Fault])
            one = soak(order[found.trials % len(ready)], fault, chance)
            found.trials += 1
            kept = _kept(journal, one, found.trials, disk)
            found.complaints += _printed(one, found.trials, [*one.complaints, *kept])
            hit = one.inflicted.words or fault is Fault.FULL_DISK
            found.counts[f"{one.finding.status}: {fault if hit else Fault.NONE}"] += 1
            files = files or open_files()
        if len(journal.done()) != found.trials:
            missing = f"{found.trials} trials, {len(journal.done())} of them in the journal"
            found.complaints.append(missing)
        if files is not None and open_files() > files:
            more = f"{open_files() - files} open files more than after the first trial"
            found.complaints.append(more)
    return found


def _printed(one: Soaked, number: int, complaints: list[str]) -> list[str]:
    where = f"trial {number}, {one.word}, {one.kind} on {one.link}, {one.inflicted.fault}"
    found = [f"{where}: {each}; its reason: {one.finding.reason}" for each in complaints]
    for line in found:
        print(line, flush=True)
    return found


def _kept(journal: Journal, one: Soaked, number: int, disk: Path) -> list[str]:
    """Record it, on a full disk at first if that is its fault."""
    record = TrialRecord(
        block=number,
        position=1,
        cell_key=f"{one.word} {one.kind}",
        vpn=one.word,
        condition=one.link,
        measurement=one.kind,
        parameters="{}",
        status=one.finding.status,
        started_at=datetime.now(UTC),
        duration_s=one.finding.measuring_s,
        reason=one.finding.reason,
        remedy=one.finding.remedy,
        evidence=one.finding.evidence.as_json(),
        metrics=one.finding.outcome.metrics,
        series=one.finding.outcome.series,
        histograms=one.finding.outcome.histograms,
    )
    if one.inflicted.fault is Fault.FULL_DISK:
        with _filled(disk):
            try:
                journal.record(record)
            except JournalError as error:
                if "the disk is full" not in error.why:
                    return [f"the journal on a full disk: {error}"]
            else:
                return []  # it had room in its log
    journal.record(record)
    return []


@contextmanager
def _small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        disk = Path(name)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "culvert-soak", name]
        subprocess.run(mount, check=True)
        try:
            yield disk
        finally:
            subprocess.run(["umount", name], check=True)


@contextmanager
def _filled(disk: Path) -> Iterator[None]:
    filler = disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    try:
        yield
    finally:
        filler.unlink()
