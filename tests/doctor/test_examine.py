"""The whole examination, with what earlier runs left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from culvert.doctor.examine import examine, left_behind, ready
from culvert.doctor.show import as_json
from culvert.labs.namespace.cleanup import Leftover, LeftoverKind
from culvert.machine import features
from culvert.machine.check import FeatureStatus
from culvert.privilege import with_sudo

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Leftover]:
    """What the clean-up finds."""
    found: list[Leftover] = []
    monkeypatch.setattr("culvert.doctor.examine.find_leftovers", lambda: found)
    return found


def test_a_clean_machine(left: list[Leftover]) -> None:
    assert left_behind().status is FeatureStatus.PRESENT
    assert left_behind().remedy is None


def test_leftovers_are_counted_by_kind(left: list[Leftover]) -> None:
    left += [
        Leftover(LeftoverKind.CGROUP, "/sys/fs/cgroup/culvert-abc123-a"),
        Leftover(LeftoverKind.CGROUP, "/sys/fs/cgroup/culvert-abc123-b"),
        Leftover(LeftoverKind.RUN, "abc123"),
    ]
    check = left_behind()

    assert check.status is FeatureStatus.DEGRADED
    assert "2 x control group" in check.detail
    assert "1 x run" in check.detail
    assert check.remedy == with_sudo("clean")


@as_root
@pytest.mark.lab
def test_every_feature_of_this_machine_is_checked() -> None:
    checks = examine()

    assert [check.name for check in checks[:-1]] == [f.name for f in features.FEATURES]
    assert checks[-1].name == "leftovers"
    answer = as_json(checks)
    assert answer["ready"] is ready(checks)
    assert len(answer["checks"]) == len(checks)


@as_root
@pytest.mark.lab
def test_examining_changes_nothing() -> None:
    def state() -> dict[str, object]:
        return {
            "interfaces": [path.name for path in Path("/sys/class/net").glob("cvscratch*")],
            "namespace": Path("/proc/self/ns/net").stat().st_ino,
            "mounts": Path("/proc/self/ns/mnt").stat().st_ino,
            "routes": Path("/proc/net/route").read_text(),
            "congestion": Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text(),
            "descriptors": len(list(Path("/proc/self/fd").iterdir())),
            "threads": len(list(Path("/proc/self/task").iterdir())),
        }

    examine()  # libraries open what they keep at the first use
    features.finding.cache_clear()
    before = state()
    examine()

    assert state() == before
