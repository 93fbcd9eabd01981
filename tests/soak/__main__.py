"""``python -m tests.soak SECONDS [--keep]``: trials over all ready VPNs with random faults.

Every trial ends in one of the four statuses with a reason that names its fault; nothing is left on
the machine; every trial is in the journal, though its disk is full now and then. Exit code 1 if
not. ``--keep`` writes the figure to bench/results.json.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from bench.results import keep, stamp

from culvert.errors import JournalError
from culvert.journal.journal import Journal
from culvert.journal.record import TrialRecord
from culvert.labs.netns.this_machine import ThisMachine
from culvert.vpns import registry
from culvert.vpns.listing import list_vpns
from tests.journal.dummies import HEAD
from tests.labs import host
from tests.soak.faults import WEIGHTS, Fault
from tests.soak.trials import Soaked, open_files, soak

TRIALS = 500
DISK = "24m"
MOST_SHOWN = 20


def main() -> int:
    """Soak until the time is over."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 10**9
    chance = random.Random(seed)
    installed = [row.vpn for row in list_vpns(ThisMachine()) if row.ready]
    ready = [
        word for word in installed if not registry.create(registry.parse(word)).variant.of_clusters
    ]
    print(f"seed {seed}: {len(ready)} variants", flush=True)
    before, files = host.snapshot(), None
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    complaints: list[str] = []
    number = 0
    with _small_disk() as disk, Journal.create(disk / "run", HEAD) as journal:
        while time.monotonic() - begun < options.seconds:
            # Each variant comes once before one comes twice.
            if number % len(ready) == 0:
                order = chance.sample(ready, len(ready))
            (fault,) = chance.choices(list(Fault), weights=[WEIGHTS[each] for each in Fault])
            one = soak(order[number % len(ready)], fault, chance)
            number += 1
            complaints += _told(one, number, [*one.complaints, *_kept(journal, one, number, disk)])
            hit = one.inflicted.words or fault is Fault.FULL_DISK
            counts[f"{one.finding.status}: {fault if hit else Fault.NONE}"] += 1
            files = files or open_files()
        if len(journal.done()) != number:
            complaints.append(f"{number} trials, {len(journal.done())} of them in the journal")
        if files is not None and open_files() > files:
            complaints.append(f"{open_files() - files} open files more than after the first trial")
    if host.snapshot() != before:
        complaints.append("the host's interfaces, addresses, routes or settings have changed")
    seconds = time.monotonic() - begun
    for what, count in sorted(counts.items()):
        print(f"{count:5} {what}")
    print(f"{number} trials in {seconds:.0f} s, {len(complaints)} complaints")
    if options.keep:
        _keep(number, seconds, seed, counts, complaints)
    return 1 if complaints else 0


def _told(one: Soaked, number: int, complaints: list[str]) -> list[str]:
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


def _keep(
    number: int, seconds: float, seed: int, counts: Counter[str], complaints: list[str]
) -> None:
    line = {
        "name": "soak",
        "what": "trials over all ready VPNs with random faults",
        "unit": "trials",
        "peer": None,
        "ours": number,
        "peer_value": None,
        "ratio": None,
        "interval": None,
        "goal": f"{TRIALS} trials without a complaint",
        "met": number >= TRIALS and not complaints,
        "samples": {
            "ours": [number],
            "peer": [],
            "details": [
                {
                    "seconds": seconds,
                    "seed": seed,
                    "counts": dict(sorted(counts.items())),
                    "complaints": len(complaints),
                    "first": complaints[:MOST_SHOWN],
                }
            ],
        },
    }
    keep(line | stamp())


if __name__ == "__main__":
    sys.exit(main())
