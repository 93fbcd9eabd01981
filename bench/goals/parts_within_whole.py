"""Whether the CPU time of VPN and probe ever exceeds that of the whole machine: the cells of
``quick``, as short as they can be, in many blocks."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import ClassVar

from bench.goal import Goal, Samples
from bench.goals.quick import VPNS
from bench.study_run import run_study
from culvert.journal.journal import Journal
from culvert.results import Status
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

BLOCKS = 15
CELLS = 20
"""Of ``quick``: four VPNs under five measurements."""
SHORT = f"""
[scale.short]
blocks = {BLOCKS}
duration = "200ms"
warmup = "100ms"
probes = 200
cycles = 1
"""
"""The fewer ticks a trial has, the more a sampled clock would be wrong."""
BUSY = "cpu_busy_s"


class PartsWithinWhole(Goal):
    """Trials that count, and whose busy time was withheld."""

    name: ClassVar[str] = "parts-within-whole"
    what: ClassVar[str] = (
        f"trials of {BLOCKS * CELLS} short ones of quick's cells whose parts exceed the whole"
    )
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = "none"
    vpns: ClassVar[tuple[str, ...]] = VPNS

    def measure(self) -> Samples:
        """Once: it takes some minutes."""
        with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
            file, out = Path(directory) / "parts.toml", Path(directory) / "run"
            file.write_text(short_study(), "utf-8")
            run_study(file, out, "--scale", "short")
            with Journal.open(out) as journal:
                trials = journal.trials().select("status", "vpn", "measurement", "evidence")
        counted = [row for row in trials.iter_rows(named=True) if row["status"] == Status.OK]
        if not counted:
            raise ValueError("no trial counts: culvert run quick shows why")
        wrong = [row for row in counted if is_withheld(row["evidence"])]
        print(f"  {len(counted)} of {BLOCKS * CELLS} trials count")
        details = [{key: row[key] for key in ("vpn", "measurement", "evidence")} for row in wrong]
        return Samples(ours=[float(len(wrong))], details=[{"ok": len(counted)}, *details])

    def met(self, samples: Samples) -> bool:
        """Not one of those that count; how many do is among the details."""
        return samples.ours == [0.0]


def is_withheld(evidence: str) -> bool:
    """Whether the trial's busy time contradicts its parts."""
    return any(BUSY in one["metrics"] for one in json.loads(evidence).get("withheld", ()))


def short_study() -> str:
    """The text of ``quick`` with a scale "short"."""
    return Study.load("quick", installed_catalogue()).text + SHORT
