"""Control groups that others remove at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.machine import cgroup


def test_members_are_those_of_the_groups_below_too(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/cgroup.procs").write_text("7\n8\n")
    (tmp_path / "a/b/cgroup.procs").write_text("9\n")
    assert cgroup.members([tmp_path]) == {7, 8, 9}


def test_one_that_is_removed_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "going").mkdir()
    scan = os.scandir

    def removed(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("going"):
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", removed)
    assert cgroup.members([tmp_path, tmp_path / "missing"]) == set()


def test_a_group_that_nobody_holds_is_abandoned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, left, used = (tmp_path / f"culvert-abcd-{name}" for name in ("a", "b", "c"))
    for group in (held, left, used):
        group.mkdir()
    (used / "cgroup.procs").write_text("7\n")
    monkeypatch.setattr(cgroup, "runs", lambda: dict.fromkeys((held, left, used), "abcd"))
    cgroup.hold(held)
    assert cgroup.abandoned() == [left]
    cgroup.remove(held)
    cgroup.remove(left)
    assert not held.exists()
    assert cgroup.abandoned() == []
