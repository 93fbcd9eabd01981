"""Control groups of a cluster's nodes on machines that have version 2 only."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.embedded import groups
from culvert.machine import cgroup
from culvert.machine.cgroup import MountedHierarchy

NAME = "culvert-abcdef-pods-a"
ALL = "cpuset cpu io memory hugetlb pids rdma misc"


def made(place: Path, monkeypatch: pytest.MonkeyPatch, there: str, below: str) -> list[str]:
    (place / "cgroup.controllers").write_text(f"{there}\n")
    (place / "cgroup.subtree_control").write_text(f"{below}\n")
    monkeypatch.setattr(cgroup, "hierarchies", lambda: [MountedHierarchy(place, 2)])
    return groups.make(NAME)


@pytest.mark.parametrize(
    ("there", "below"),
    [(ALL, ALL), ("cpu memory pids", "cpu memory pids"), (ALL, "cpuset cpu memory hugetlb pids")],
)
def test_the_kubelet_has_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, below: str
) -> None:
    assert made(tmp_path, monkeypatch, there, below) == [f"unified:{tmp_path}"]
    groups.remove(NAME)


def test_groups_that_cannot_be_made_have_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container they are read-only."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(tmp_path / NAME))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(NotPossible, match="Read-only file system") as caught:
        made(tmp_path, monkeypatch, ALL, ALL)
    assert "--privileged" in caught.value.remedy


@pytest.mark.parametrize(
    ("there", "below", "missing"),
    [
        (ALL, "cpu io memory pids", "cpuset, hugetlb"),  # systemd enables what a unit wants
        (ALL, "cpuset cpu memory pids", "hugetlb"),
        ("cpuset cpu", "cpuset cpu", "memory, pids"),
    ],
)
def test_a_controller_that_its_group_lacks_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, below: str, missing: str
) -> None:
    """The kubelet would end with an error in its log."""
    with pytest.raises(NotPossible, match=f"no controller {missing}$") as caught:
        made(tmp_path, monkeypatch, there, below)
    enable = " ".join(f"+{word}" for word in missing.split(", "))
    assert caught.value.remedy.startswith(f"echo {enable} | sudo tee ")
    assert not (tmp_path / NAME).exists()
