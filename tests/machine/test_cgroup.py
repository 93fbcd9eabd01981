"""Control groups that others remove at any moment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.machine.cgroup import with_groups_below


def test_a_group_comes_with_those_in_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/cgroup.procs").touch()
    assert with_groups_below(tmp_path) == [tmp_path, tmp_path / "a", tmp_path / "a/b"]


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
    assert tmp_path in with_groups_below(tmp_path)
    assert with_groups_below(tmp_path / "missing") == []
