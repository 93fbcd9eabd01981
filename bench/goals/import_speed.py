"""kjorveziroski2024's 4,800 runs into a journal, and tables A1 and A2 out of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar

from bench.bounds import MedianBelow
from bench.goal import ROUNDS, Samples
from bench.published import published

TABLES = ("a1-tcp", "a2-udp")
ROWS = 42


class ImportSpeed(MedianBelow):
    """The whole command, Python's start included."""

    name: ClassVar[str] = "import-speed"
    what: ClassVar[str] = "importing 4,800 runs and writing tables A1 and A2"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 5 s"
    limit: ClassVar[float] = 5

    def measure(self) -> Samples:
        """As a user runs it."""
        return Samples(ours=[_import_s() for _ in range(ROUNDS)])


def _import_s() -> float:
    culvert = Path(sys.executable).with_name("culvert")
    source = published("all-merged.csv")
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        begin = time.monotonic()
        subprocess.run(
            [culvert, "import", "knb", source, "--out", directory, "--json"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.monotonic() - begin
        for name in TABLES:
            table = Path(directory) / "tables" / f"kjorveziroski2024-{name}.csv"
            if len(table.read_text().splitlines()) != 1 + ROWS:
                raise ValueError(f"{table.name} has not {ROWS} rows")
    return seconds
