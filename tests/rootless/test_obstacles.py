"""What is behind a refusal, by the step, the errno and the machine's settings."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from culvert import privilege
from culvert.labs.namespace.sysctls import highest_group
from culvert.machine import cgroup, without_root
from culvert.machine.refusal import (
    APPARMOR,
    DEBIAN,
    LIMIT,
    Obstacle,
    Refusal,
    Step,
    missing_options,
    obstacle,
)
from culvert.machine.tree import Tree
from culvert.privilege import Privilege

STATUS, LABEL, MOUNTS = "/proc/self/status", "/proc/self/attr/current", "/proc/self/mountinfo"
PROBE = Path("/opt/culvert/bin/culvert-probe")


def _machine(root: Path, settings: dict[str, str]) -> Tree:
    for path, text in settings.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Tree(root)


@pytest.mark.parametrize(
    ("settings", "step", "code", "found"),
    [
        ({APPARMOR: "1\n"}, Step.MAPPING, errno.EPERM, Obstacle.APPARMOR),
        ({APPARMOR: "1\n"}, Step.PROC, errno.EACCES, Obstacle.APPARMOR),
        ({APPARMOR: "0\n"}, Step.MAPPING, errno.EPERM, Obstacle.OTHER),
        ({DEBIAN: "0\n"}, Step.USER_NAMESPACE, errno.EPERM, Obstacle.SWITCHED_OFF),
        ({DEBIAN: "1\n", LIMIT: "0\n"}, Step.USER_NAMESPACE, errno.ENOSPC, Obstacle.LIMIT),
        ({LIMIT: "100\n"}, Step.NAMESPACES, errno.ENOSPC, Obstacle.LIMIT),
        ({}, Step.USER_NAMESPACE, errno.EINVAL, Obstacle.KERNEL),
        ({}, Step.USER_NAMESPACE, errno.EPERM, Obstacle.OTHER),
        ({"/.dockerenv": ""}, Step.USER_NAMESPACE, errno.EPERM, Obstacle.OTHER),
        ({STATUS: "Seccomp:\t2\n"}, Step.USER_NAMESPACE, errno.EPERM, Obstacle.CONTAINER),
        ({}, Step.PROC, errno.EPERM, Obstacle.CONTAINER),
    ],
)
def test_what_is_behind_a_refusal(
    tmp_path: Path, settings: dict[str, str], step: Step, code: int, found: Obstacle
) -> None:
    assert obstacle(step, code, _machine(tmp_path, settings)) is found


@pytest.mark.parametrize("what", Obstacle)
def test_every_obstacle_has_a_reason_and_a_remedy(what: Obstacle) -> None:
    refusal = Refusal(Step.MAPPING, errno.EPERM, what, PROBE)
    assert refusal.why
    assert refusal.remedy


FILTERED = {STATUS: "NoNewPrivs:\t0\nSeccomp:\t2\n"}
CONFINED = {LABEL: "docker-default (enforce)\n", "/dev/net/tun": ""}
HIDDEN = {MOUNTS: "22 1 0:5 / /proc rw - proc proc rw\n23 22 0:6 / /proc/kcore rw - tmpfs t rw\n"}
SHOWN = {MOUNTS: "22 1 0:5 / /proc rw - proc proc rw\n", LABEL: "unconfined\n"}


@pytest.mark.parametrize(
    ("settings", "step", "named"),
    [
        (FILTERED | CONFINED | HIDDEN, Step.USER_NAMESPACE, ["seccomp", "apparmor", "systempaths"]),
        (FILTERED | SHOWN, Step.NAMESPACES, ["seccomp", "/dev/net/tun"]),
        (FILTERED | HIDDEN, Step.PROC, ["systempaths", "/dev/net/tun"]),
    ],
)
def test_a_container_is_refused_with_the_options_that_it_lacks(
    tmp_path: Path, settings: dict[str, str], step: Step, named: list[str]
) -> None:
    options = missing_options(step, _machine(tmp_path, settings))
    assert len(options) == len(named)
    assert all(name in option for name, option in zip(named, options, strict=True))
    remedy = Refusal(step, errno.EPERM, Obstacle.CONTAINER, PROBE, options).remedy
    assert all(option in remedy for option in options)


def test_apparmors_remedy_is_a_profile_for_the_probe_or_the_setting() -> None:
    remedy = Refusal(Step.MAPPING, errno.EPERM, Obstacle.APPARMOR, PROBE).remedy
    assert f'profile culvert "{PROBE}" flags=(unconfined)' in remedy
    assert "userns," in remedy
    assert "kernel.apparmor_restrict_unprivileged_userns=0" in remedy


def test_privilege_is_of_root_of_namespaces_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert privilege.privilege() is Privilege.NONE
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv(privilege.WITHOUT_ROOT, raising=False)
    monkeypatch.delenv(privilege.AS_ROOT, raising=False)
    assert privilege.privilege() is Privilege.ROOT
    assert privilege.init_outside() is None
    monkeypatch.setenv(privilege.AS_ROOT, "41")
    assert privilege.privilege() is Privilege.ROOT
    assert privilege.init_outside() == 41
    monkeypatch.setenv(privilege.WITHOUT_ROOT, "42")
    assert privilege.privilege() is Privilege.OWN_NAMESPACES
    assert privilege.init_outside() == 42


def test_root_has_nothing_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.delenv(privilege.WITHOUT_ROOT, raising=False)
    assert without_root.notes() == []
    assert without_root.described() == {}


@pytest.mark.parametrize(
    ("version", "handed_out", "found"),
    [(1, "", "slice/session"), (2, "cpu memory", "slice"), (2, "memory", "")],
)
def test_the_nearest_group_that_is_delegated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, handed_out: str, found: str
) -> None:
    """In version 2 a group that has processes hands out nothing: its parent does."""
    session = tmp_path / "slice/session"
    session.mkdir(parents=True)
    (tmp_path / "slice/cgroup.subtree_control").write_text(handed_out)
    lines = "4:cpu,cpuacct:/slice/session\n" if version == 1 else "1:name=x:/y\n0::/slice/session\n"
    (tmp_path / "own").write_text(lines)
    monkeypatch.setattr(cgroup, "hierarchy", lambda: cgroup.Hierarchy(tmp_path, version))
    monkeypatch.setattr(cgroup, "is_root", lambda: False)
    place = cgroup.place(tmp_path / "own")
    assert place is not None
    assert place.path == tmp_path / found


@pytest.mark.parametrize(
    ("text", "highest"),
    [("0 0 4294967295\n", 2147483647), ("0 1000 1\n", 0), ("0 1000 1\n1 100000 65536\n", 0),
     ("0 100000 65536\n", 65535)],
)  # fmt: skip
def test_groups_of_a_user_namespace(tmp_path: Path, text: str, highest: int) -> None:
    (tmp_path / "gid_map").write_text(text)
    assert highest_group(tmp_path / "gid_map") == highest
