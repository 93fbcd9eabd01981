"""Installing, with roles that stand beside this file as a third party's stand beside its driver."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest

from culvert import tools
from culvert.errors import UsageError
from culvert.install import roles as module
from culvert.install.roles import ANSIBLE, InstallResult, failed_tasks, install, roles_path
from culvert.labs.host import Host
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.registry import Registry
from culvert.vpns.variant import Missing, Variant
from culvert.vpns.wireguard.driver import WireGuard

CHANGED = module.Played(stats={"changed": {"here": 1}})
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="installing needs root")


class Works(NoVpn):
    name = "works"
    variants: ClassVar[tuple[Variant, ...]] = (Variant("slow", "one"), Variant("fast", "two"))
    options: ClassVar[dict[str, str]] = {"extra": "with more"}
    role = "works"

    def version(self, host: Host) -> str:
        return f"1.0-{self.variant.name}"


class Fails(Works):
    name = "fails"
    role = "fails"


class Mends(Works):
    name = "mends"
    role = "mends"


class Forgoes(Works):
    name = "forgoes"
    role = "forgoes"

    def missing(self, host: Host) -> list[Missing]:
        fast = self.variant.name == "fast"
        return [Missing.to_install("the archive's best", "forgoes")] if fast else []


class AsksApt(Works):
    name = "asks-apt"
    role = "asks-apt"


class RoleMissing(Works):
    name = "roleless"
    role = "no-such-role"


class Incomplete(Works):
    name = "incomplete"

    def missing(self, host: Host) -> list[Missing]:
        return [Missing("a kernel module", "modprobe it")]


DRIVERS: tuple[type[Vpn], ...] = (
    NoVpn,
    Works,
    Fails,
    Mends,
    Forgoes,
    AsksApt,
    RoleMissing,
    Incomplete,
)


@pytest.fixture(autouse=True)
def drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = Registry({driver.name: driver for driver in DRIVERS}, {})
    monkeypatch.setattr(registry, "installed", lambda: known)
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))


def one(name: str) -> InstallResult:
    (result,) = install([name])
    return result


def test_roles_are_found_in_the_package() -> None:
    assert (ANSIBLE / "install.yml").is_file()
    assert (ANSIBLE / "ansible.cfg").is_file()
    for role in ("wireguard", "packages", "go-program"):
        assert (ANSIBLE / "roles" / role / "tasks/main.yml").is_file()


def test_a_third_partys_roles_are_beside_its_driver() -> None:
    assert roles_path(Works) == (Path(__file__).parent / "ansible/roles", ANSIBLE / "roles")
    assert roles_path(WireGuard) == (ANSIBLE / "roles",)


@needs_root
def test_nothing_to_install() -> None:
    result = one("none")
    assert (result.role, result.ok, result.changed, result.version) == (None, True, False, "none")


@needs_root
def test_twice_changes_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = one("works"), one("works")
    assert (first.ok, first.changed, first.failures) == (True, True, ())
    assert (second.ok, second.changed, second.failures) == (True, False, ())
    assert first.version == "slow: 1.0-slow; fast: 1.0-fast"
    assert first.duration_s > 0
    assert (tools.tools_directory() / "slow-fast").is_dir()
    assert capfd.readouterr() == ("", "")


@needs_root
def test_one_variant_of_a_role_is_installed() -> None:
    result = one("works/fast")
    assert (result.vpn, result.version, result.ok) == ("works/fast", "1.0-fast", True)
    assert (tools.tools_directory() / "fast").is_dir()


@needs_root
def test_an_option_is_installed_with_its_variant() -> None:
    (result,) = install(["works/fast", "works/fast+extra"])
    assert (result.vpn, result.ok) == ("works/fast works/fast+extra", True)
    assert (tools.tools_directory() / "fast-extra").is_dir()


@needs_root
def test_a_failed_task_is_quoted_and_the_others_go_on() -> None:
    failed, fine = install(["fails", "none"])
    assert not failed.ok
    assert failed.failures == ("Fetch the moon: the moon is not for sale",)
    assert fine.ok


@needs_root
def test_a_failure_that_the_role_mends_is_none() -> None:
    assert one("mends").failures == ()


@needs_root
def test_what_a_role_goes_on_without_is_told_with_the_variants_that_lack_it() -> None:
    result = one("forgoes")
    assert (result.ok, result.failures) == (True, ())
    assert result.notes == (
        "Fetch what only some variants need: the archive is closed",
        "forgoes/fast still misses the archive's best: culvert install forgoes",
    )


@needs_root
def test_a_role_that_is_not_there() -> None:
    result = one("roleless")
    assert not result.ok
    assert "no-such-role" in result.failures[0]


@needs_root
@pytest.mark.skipif(shutil.which("apt-config") is None, reason="this machine has no apt")
def test_no_file_that_the_environment_names_configures_a_roles_apt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "apt.conf").write_text('Culvert::Test "of the environment";\n')
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    dumped = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True)
    assert "Culvert::Test" in dumped.stdout
    assert (result := one("asks-apt")).ok, result.failures
    used = (tools.tools_directory() / "apt.conf").read_text()
    assert "APT::Architecture" in used
    assert "Culvert::Test" not in used


@needs_root
def test_a_systemd_that_is_installed_and_does_not_run_has_no_units_to_disable(
    tmp_path: Path,
) -> None:
    """As in a container, whose first process is a shell."""
    play: dict[str, object] = {"hosts": "localhost", "connection": "local", "gather_facts": False}
    role = {"role": "packages", "packages": ["bash"], "packages_units_off": ["some.service"]}
    play["vars"] = {"ansible_python_interpreter": sys.executable}
    (tmp_path / "play.yml").write_text(json.dumps([{**play, "roles": [role]}]))
    entered = "mount -t tmpfs none /run; ansible-playbook -i localhost, play.yml; exit $?"
    done = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", entered],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "ANSIBLE_ROLES_PATH": str(ANSIBLE / "roles"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_root
def test_what_no_installation_brings_is_a_note() -> None:
    result = one("incomplete/fast")
    assert result.ok
    assert result.notes == ("incomplete/fast needs a kernel module too: modprobe it",)


@needs_root
def test_a_vpn_that_still_lacks_what_was_to_be_installed_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lack = [Missing.to_install("its program", "incomplete")]
    monkeypatch.setattr(Incomplete, "missing", lambda self, host: lack)
    result = one("incomplete/fast")
    assert not result.ok
    assert result.failures == (
        "incomplete/fast still misses its program: culvert install incomplete",
    )


@needs_root
@pytest.mark.vpn
def test_without_go_it_says_where_to_get_it(tmp_path: Path) -> None:
    # A mount namespace of its own, in which the usual place of Go is empty.
    code = (
        "from culvert.install.roles import install; print(install(['wireguard/go'])[0].failures[0])"
    )
    hide = 'mkdir -p "$0" && mount -t tmpfs none "$0"; exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", hide, "/usr/local/go", sys.executable, "-c", code],
        env={"PATH": "/usr/bin:/bin", "CULVERT_TOOLS": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    if Path("/usr/bin/go").exists():
        pytest.skip("Go is in /usr/bin, where it cannot be hidden")
    assert "go is neither on PATH nor in /usr/local/go/bin" in done.stdout
    assert "https://go.dev/dl" in done.stdout


@pytest.mark.parametrize("names", [[], ["nonsense"], ["works/nonsense"], ["works", "fails/x"]])
def test_wrong_names_install_nothing(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_play_here", lambda *_: pytest.fail("a role was run"))
    with pytest.raises(UsageError) as caught:
        install(names)
    assert caught.value.remedy


def test_without_root_roles_run_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(module, "_play_here", lambda *_: CHANGED)
    assert install(["works"])[0].ok


def test_a_vpn_named_twice_is_installed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(module, "_play_here", lambda *_: CHANGED)
    (result,) = install(["works/fast", "works", "works/fast"])
    assert result.vpn == "works"


def test_a_failed_installation_names_the_package_in_the_way() -> None:
    result = {
        "msg": "'/usr/bin/apt-get install strongswan-libcharon' failed: E: Error",
        "stdout": "Reading package lists...\nThe following packages have unmet dependencies:\n"
        " libreswan : Conflicts: strongswan-libcharon but 5.9.8-5 is to be installed\n",
        "stderr": "E: Error, pkgProblemResolver::Resolve generated breaks\n",
    }
    event = {"event": "runner_on_failed", "event_data": {"task": "Install", "res": result}}
    assert list(failed_tasks([event])) == [
        "Install: The following packages have unmet dependencies: | "
        "libreswan : Conflicts: strongswan-libcharon but 5.9.8-5 is to be installed | "
        "E: Error, pkgProblemResolver::Resolve generated breaks"
    ]


def test_each_is_announced_before_it_is_installed() -> None:
    said: list[str] = []
    install(["none", "roleless"], said.append)
    assert said == ["none (1 of 2)", "roleless (2 of 2)"]
