"""The registry, and the trials on this machine's own kernel."""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyroute2 import IPRoute

from culvert import tools
from culvert.errors import UsageError
from culvert.machine import cgroup, features, rootless
from culvert.machine.check import (
    Feature,
    FeatureGroup,
    FeatureStatus,
    degraded,
    find,
    missing,
    present,
    unknown,
)
from culvert.machine.features import FEATURES
from culvert.machine.scratch import in_scratch
from culvert.machine.trials import commands
from culvert.machine.trials.accounting import kernel_configuration
from culvert.machine.trials.privileges import parse_effective
from culvert.machine.trials.steadiness import cpu_quota
from culvert.privilege import with_sudo

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Registers a feature named x with the given finding; counts how often it is tried."""
    tried: list[str] = []

    def register(finding: Any) -> list[str]:
        def trial() -> Any:
            tried.append("x")
            return finding

        feature = Feature("x", FeatureGroup.LAB, ("a VPN",), "do this", trial)
        monkeypatch.setitem(features._BY_NAME, "x", feature)
        return tried

    features.finding.cache_clear()
    yield register
    features.finding.cache_clear()


@pytest.mark.parametrize(
    ("finding", "there", "remedy"),
    [
        (present("yes"), True, None),
        (degraded("half"), True, "do this"),
        (degraded("half", "do that"), True, "do that"),
        (missing("no"), False, "do this"),
        (unknown("?"), False, with_sudo("doctor")),
        (unknown("?", "look there"), False, "look there"),
    ],
)
def test_what_a_finding_comes_to(one: Any, finding: Any, there: bool, remedy: str | None) -> None:
    one(finding)

    assert features.has("x") is there
    assert features.check("x").remedy == remedy
    assert features.check("x").needed_by == ("a VPN",)


def test_a_feature_is_tried_once(one: Any) -> None:
    tried = one(present("yes"))
    for _ in range(3):
        features.has("x")

    assert tried == ["x"]


def test_an_unknown_feature_is_the_callers_mistake() -> None:
    with pytest.raises(UsageError) as caught:
        features.has("warp-drive")

    assert "warp-drive" in str(caught.value)
    assert "wireguard" in caught.value.remedy


def test_names_are_unique_and_each_feature_has_a_remedy_and_a_user() -> None:
    names = [feature.name for feature in FEATURES]

    assert len(set(names)) == len(names)
    assert all(feature.remedy and feature.needed_by for feature in FEATURES)
    assert {"esp", "wireguard", "netem", "fq", "tun", "ovpn", "capture", "kvm"} <= set(names)


@as_root
def test_a_quota_is_tried_and_nothing_stays() -> None:
    before = cgroup.runs()
    finding = cpu_quota()
    where = cgroup.hierarchy()
    assert (finding.status is FeatureStatus.PRESENT) == (where is not None)
    assert cgroup.runs() == before


def test_without_the_controller_there_are_no_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "hierarchy", lambda: None)
    assert find(cpu_quota, scratch=False).status is FeatureStatus.MISSING


def test_who_may_not_make_groups_does_not_know(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(cgroup, "hierarchy", lambda: cgroup.Hierarchy(tmp_path, 1))
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert find(cpu_quota, scratch=False).status is FeatureStatus.UNKNOWN


def test_effective_capabilities_are_read() -> None:
    assert parse_effective("Name:\tx\nCapEff:\t0000000000003000\n") == 0x3000
    assert parse_effective("") is None


def _interfaces() -> set[str]:
    with IPRoute() as ip:
        return {message.get_attr("IFLA_IFNAME") for message in ip.get_links()}


@as_root
@pytest.mark.lab
def test_a_scratch_namespace_is_another_one_and_is_gone() -> None:
    def inside() -> tuple[int, set[str]]:
        with IPRoute() as ip:
            ip.link("add", ifname="cvscratch0", kind="veth", peer="cvscratch1")
        return Path("/proc/thread-self/ns/net").stat().st_ino, _interfaces()

    before, here = _interfaces(), Path("/proc/self/ns/net").stat().st_ino
    there, interfaces = in_scratch(inside)

    assert there != here
    assert {"cvscratch0", "cvscratch1"} <= interfaces
    assert _interfaces() == before
    assert Path("/proc/self/ns/net").stat().st_ino == here


@as_root
@pytest.mark.lab
def test_a_trials_error_reaches_the_caller() -> None:
    def trial() -> None:
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        in_scratch(trial)


@as_root
@pytest.mark.lab
def test_what_no_kernel_has_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    qdisc = ("tc", "qdisc", "add", "dev", "lo", "root", "nosuchqdisc")
    suite = tuple(word.replace("gcm", "nonsense") for word in commands.ESP_SUITES["AES-128-GCM"])
    monkeypatch.setattr(commands, "COMMANDS", {"qdisc": {"x": qdisc}, "suite": {"x": suite}})
    for feature in ("kind:nosuchkind", "qdisc", "suite"):
        assert find(commands.trial(feature), scratch=True).status is FeatureStatus.MISSING


@as_root
@pytest.mark.lab
def test_one_suite_of_many_is_degraded(monkeypatch: pytest.MonkeyPatch) -> None:
    works, fails = commands.new_link("veth"), commands.new_link("nosuchkind")
    monkeypatch.setattr(commands, "COMMANDS", {"esp": {"one": works, "two": fails}})
    finding = find(commands.trial("esp"), scratch=True)
    assert (finding.status, finding.detail) == (FeatureStatus.DEGRADED, "without two")


def test_without_iproute2_nothing_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("culvert.tools.find", lambda _: None)
    finding = commands.trial("veth")()
    assert finding.status is FeatureStatus.UNKNOWN
    assert finding.remedy == "sudo apt-get install iproute2"


@as_root
@pytest.mark.lab
def test_what_every_lab_needs_was_tried_and_found() -> None:
    for name in ("root", "capabilities", "network-namespaces", "mount-namespaces", "veth"):
        assert features.check(name).status is FeatureStatus.PRESENT, features.check(name)
    assert features.check("capture").status is FeatureStatus.PRESENT


@as_root
@pytest.mark.lab
def test_no_feature_is_left_without_an_answer_by_a_bug() -> None:
    for feature in FEATURES:
        check = features.check(feature.name)
        assert check.detail
        assert (check.remedy is None) == (check.status is FeatureStatus.PRESENT)


@as_root
@pytest.mark.lab
def test_esp_agrees_with_the_kernels_configuration() -> None:
    options = kernel_configuration()
    if options is None:
        pytest.skip("the kernel's configuration cannot be read")
    # a module may be configured and not installed, so only one direction holds
    for name, option in (
        ("esp", "CONFIG_INET_ESP"),
        ("wireguard", "CONFIG_WIREGUARD"),
        ("netem", "CONFIG_NET_SCH_NETEM"),
        ("tun", "CONFIG_TUN"),
        ("vxlan", "CONFIG_VXLAN"),
        ("gre", "CONFIG_NET_IPGRE"),
    ):
        if option not in options:
            assert features.check(name).status is FeatureStatus.MISSING


WITHOUT_ROOT = """
from culvert.machine import features
for feature in features.FEATURES:
    check = features.check(feature.name)
    print(feature.name, check.status, check.remedy, sep="|")
"""


@as_root
@pytest.mark.lab
def test_without_privileges_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def drop() -> None:
        # PR_CAPBSET_DROP of CAP_SYS_ADMIN: root in name, as in a container
        for capability in range(41):
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_ROOT],
        preexec_fn=drop,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answers = dict(line.split("|", 1) for line in done.stdout.splitlines())

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert answers["capabilities"].startswith("missing|in a container")
    for name in ("network-namespaces", "veth", "tun", "wireguard", "esp", "netem", "capture"):
        assert answers[name] == f"unknown|{with_sudo('doctor')}"


def test_a_program_that_does_not_end_is_no_finding_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def late(argv: list[str], **_: object) -> None:
        raise subprocess.TimeoutExpired(argv, 1)

    monkeypatch.setattr(subprocess, "run", late)
    monkeypatch.setattr(tools, "find", lambda _: Path("/bin/true"))
    finding = find(commands.trial("wireguard"), scratch=False)
    assert finding.status is FeatureStatus.UNKNOWN
    assert "no answer within the deadline" in finding.detail
    refusal = rootless.refusal()
    assert refusal is not None
    assert os.strerror(errno.ETIME) in refusal.why
