"""The study ``quick`` as a user runs it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from bench.goal import Goal, Samples
from bench.study_run import run_study

VPNS = ("wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")


class QuickTime(Goal):
    """All of it, once the VPNs are installed."""

    name: ClassVar[str] = "quick-time"
    what: ClassVar[str] = "the study quick"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 5 min"
    vpns: ClassVar[tuple[str, ...]] = VPNS

    def measure(self) -> Samples:
        """Once: it is long."""
        return Samples(ours=[_quick()["elapsed_s"]])

    def met(self, samples: Samples) -> bool:
        """Every trial counted as well."""
        return samples.ours[0] < 300 and _quick()["trials"]["ok"] == sum(
            _quick()["trials"].values()
        )


class QuickMeasuring(Goal):
    """The part of it that is measuring, not setting up."""

    name: ClassVar[str] = "quick-measuring"
    what: ClassVar[str] = "share of the study quick that is measuring"
    unit: ClassVar[str] = "1"
    goal: ClassVar[str] = "at least 70 %"
    vpns: ClassVar[tuple[str, ...]] = VPNS

    def measure(self) -> Samples:
        """From the same run."""
        return Samples(ours=[_quick()["measuring_share"]])

    def met(self, samples: Samples) -> bool:
        """Directly."""
        return samples.ours[0] >= 0.7


@cache
def _quick() -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="culvert-bench-") as directory:
        return run_study("quick", Path(directory) / "run")
