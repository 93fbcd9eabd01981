"""Known truths: the table of ``culvert doctor --calibrate``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import ClassVar

from bench.goal import Goal, Samples

MISSED = frozenset({"missed", "not measured"})


class Calibration(Goal):
    """Truths that this machine measures right, of those on links and a gateway."""

    name: ClassVar[str] = "calibration"
    what: ClassVar[str] = "known truths of every measurement on known links, missed"
    unit: ClassVar[str] = "truths"
    goal: ClassVar[str] = "0"

    def measure(self) -> Samples:
        """As a user does."""
        culvert = Path(sys.executable).with_name("culvert")
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [culvert, "doctor", "--calibrate", "--json"],
                check=False,  # a truth that is missed is the goal's to judge
                stdout=subprocess.PIPE,
                cwd=directory,
            )
        details = json.loads(done.stdout)["truths"]
        missed = [one for one in details if one["verdict"] in MISSED]
        return Samples(ours=[float(len(missed))], details=details)

    def met(self, samples: Samples) -> bool:
        """None is missed."""
        return samples.ours == [0.0]

    def failed(self, samples: Samples) -> list[str]:
        """Cells and metrics."""
        return [
            " ".join((one["cell"], (one["judged"] or {}).get("metric", one["reason"])))
            for one in samples.details
            if one["verdict"] in MISSED
        ]
