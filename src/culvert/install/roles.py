"""Installing VPNs with their Ansible roles on this machine; the duration is a result."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ansible_runner

import culvert
from culvert import tools
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs.this_machine import ThisMachine
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.registry import VpnId
from culvert.vpns.variant import Missing

HERE = ThisMachine()
ANSIBLE = Path(culvert.__file__).parent / "ansible"
"""Culvert's playbook and roles: a link to ansible/ in the source tree, files in a wheel."""
_TAIL_LINES = 5
_PRINTED_LINES = 2


@dataclass(frozen=True)
class InstallResult:
    """The result for one VPN. ``role`` is None if there is nothing to install.

    ``changed``: something was installed. ``version`` is that of each variant's program afterwards
    (None if unknown). ``failures`` are the failed tasks with their messages. ``notes`` are parts
    that some variants miss because the role could not get them, and requirements that no
    installation provides, such as a feature of the kernel.
    """

    vpn: str
    role: str | None
    ok: bool
    changed: bool
    duration_s: float
    version: str | None
    failures: tuple[str, ...]
    notes: tuple[str, ...] = ()


def install(
    names: Sequence[str], starting: Callable[[str], None] = lambda _: None
) -> list[InstallResult]:
    """Install VPNs, each given as ``name`` or ``name/variant+option``, in the order given; call
    ``starting`` with "NAME (1 of 8)" before each.

    Raises UsageError for unknown names and NotPossible without Ansible, both before anything is
    installed. A failure of one VPN is a result, and the others are still installed. Without root,
    VPNs that need packages fail, and programs are installed into the user's own tools.
    """
    wanted = wanted_vpns(names)
    playbook_program()
    results = []
    for number, (name, ids) in enumerate(wanted.items(), start=1):
        starting(f"{name} ({number} of {len(wanted)})")
        results.append(_install(registry.installed().driver(name), ids))
    return results


def wanted_vpns(names: Sequence[str]) -> dict[str, tuple[VpnId, ...]]:
    """The requested variants of each VPN; a bare name means all of them, without options."""
    if not names:
        raise UsageError(
            "culvert install", "has no VPN to install", "try: culvert install wireguard/go"
        )
    wanted: dict[str, tuple[VpnId, ...]] = {}
    for text in names:
        ids = (registry.parse(text),) if "/" in text else _all(registry.installed().driver(text))
        name = ids[0].name
        wanted[name] = tuple(dict.fromkeys((*wanted.get(name, ()), *ids)))
    return wanted


def _all(driver: type[Vpn]) -> tuple[VpnId, ...]:
    return tuple(VpnId(driver.name, variant.name) for variant in driver.variants)


def _install(driver: type[Vpn], ids: tuple[VpnId, ...]) -> InstallResult:
    start = time.monotonic()
    done = Played() if driver.role is None else _play_here(driver, ids)
    duration_s = time.monotonic() - start
    instances = [registry.create(each) for each in ids]
    unfinished, notes = _missing(instances)
    failures = done.failures or (() if done.ignored else unfinished)
    if not failures:
        notes = (*done.ignored, *unfinished, *notes)
    versions = {vpn.variant.name: own for vpn in instances if (own := _version(vpn)) is not None}
    return InstallResult(
        vpn=driver.name if {*ids} == {*_all(driver)} else " ".join(map(str, ids)),
        role=driver.role,
        ok=not failures,
        changed=done.changed,
        duration_s=duration_s,
        version=_joined(versions),
        failures=failures,
        notes=notes,
    )


def _missing(vpns: Sequence[Vpn]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parts that variants still miss and should be installed, and those that no installation
    provides."""
    found: dict[Missing, list[str]] = {}
    for vpn in vpns:
        for missing in vpn.missing(HERE):
            found.setdefault(missing, []).append(vpn.id)
    unfinished, notes = [], []
    for missing, names in found.items():
        s, es = ("s", "es") if len(names) == 1 else ("", "")
        if missing.installable:
            unfinished.append(f"{', '.join(names)} still miss{es} {missing.what}: {missing.remedy}")
        else:
            notes.append(f"{', '.join(names)} need{s} {missing.what} too: {missing.remedy}")
    return tuple(unfinished), tuple(notes)


@dataclass(frozen=True)
class Played:
    """The result of a role; ``ignored`` are failed tasks that it tolerates, ``stats`` Ansible's
    counts of tasks by kind and host."""

    stats: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether a task changed something."""
        return any((self.stats.get("changed") or {}).values())


def play(
    driver: type[Vpn],
    ids: Sequence[VpnId],
    inventory: str | dict[str, Any],
    variables: Mapping[str, Any],
    environment: Mapping[str, str],
    **options: Any,
) -> Played:
    """Apply a driver's role to the hosts of an inventory. ``variables`` have precedence over the
    inventory's, ``options`` are ansible-runner's. Raises NotPossible without Ansible."""
    program = playbook_program()
    with tempfile.TemporaryDirectory(prefix="culvert-install-") as private:
        runner = ansible_runner.run(
            private_data_dir=private,
            playbook=str(ANSIBLE / "install.yml"),
            inventory=inventory,
            # In a file of that directory: no secret is on a command line.
            extravars={
                "culvert_role": driver.role,
                "culvert_variants": list(dict.fromkeys(each.variant for each in ids)),
                "culvert_options": sorted(frozenset[str]().union(*(each.options for each in ids))),
                **variables,
            },
            envvars={
                "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg"),
                "ANSIBLE_ROLES_PATH": os.pathsep.join(map(str, roles_path(driver))),
                "PATH": os.pathsep.join((str(program.parent), tools.search_path())),
                # Its files are in our directory: an account may have no home directory.
                "ANSIBLE_HOME": private,
                # Ansible refuses to start in a locale that is not UTF-8.
                "LC_ALL": "C.UTF-8",
                "ANSIBLE_FORCE_COLOR": "False",
                **environment,
            },
            settings={"runner_mode": "subprocess"},  # no pseudo terminal
            quiet=True,
            **options,
        )
        events = list(runner.events)
        failures = list(failed_tasks(events))
        if not failures and runner.status != "successful":
            with runner.stdout as output, runner.stderr as errors:
                lines = [line.strip() for line in (*output, *errors) if line.strip()]
            failures = [f"ansible-playbook {runner.status}: {' | '.join(lines[-_TAIL_LINES:])}"]
        return Played(runner.stats or {}, tuple(failures), tuple(_ignored_tasks(events)))


def _play_here(driver: type[Vpn], ids: Sequence[VpnId]) -> Played:
    here = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "ansible_remote_tmp": "{{ lookup('env', 'ANSIBLE_HOME') }}/remote",
    }
    return play(
        driver,
        ids,
        {"all": {"hosts": {"this-machine": here}}},
        {"culvert_tools": str(tools.tools_directory())},
        {"ANSIBLE_LOCALHOST_WARNING": "False"},
    )


def _ignored_tasks(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    for event in events:
        data = event.get("event_data", {})
        if event.get("event") == "runner_on_failed" and data.get("ignore_errors"):
            yield f"{data.get('task')}: {_message(data.get('res', {}))}"


def failed_tasks(events: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Task and message of every failure without a successful rescue."""
    pending: list[str] = []
    for event in events:
        data = event.get("event_data", {})
        kind = event.get("event")
        if kind == "runner_on_failed" and not data.get("ignore_errors"):
            pending.append(f"{data.get('task')}: {_message(data.get('res', {}))}")
        elif kind == "runner_on_unreachable":
            pending.append(f"{data.get('host')} cannot be reached: {_message(data.get('res', {}))}")
        elif kind == "playbook_on_stats" and not (data.get("failures") or data.get("dark")):
            pending.clear()
    yield from pending


def _message(result: dict[str, Any]) -> str:
    """The most specific message of a failed task's result, and the end of what its program printed
    before: apt names there the packages that are in each other's way."""
    messages = (_lines(result, key) for key in ("stderr", "msg", "reason"))
    lines = next(filter(None, messages), [])[-_TAIL_LINES:]
    return " | ".join(_lines(result, "stdout")[-_PRINTED_LINES:] + lines) or "no message"


def _lines(result: dict[str, Any], key: str) -> list[str]:
    lines = (line.strip() for line in str(result.get(key) or "").splitlines())
    return [line for line in lines if line]


def roles_path(driver: type[Vpn]) -> tuple[Path, ...]:
    """Directories to search for roles: a third party's beside its driver, then Culvert's."""
    module = sys.modules[driver.__module__]
    beside = Path(str(module.__file__)).parent / "ansible/roles"
    return (*((beside,) if beside.is_dir() else ()), ANSIBLE / "roles")


def playbook_program() -> Path:
    """ansible-playbook of this Python environment, otherwise of PATH."""
    beside = Path(sys.executable).parent / "ansible-playbook"
    found = str(beside) if beside.exists() else shutil.which("ansible-playbook")
    if found is None:
        raise NotPossible(
            "ansible-playbook",
            "is not installed",
            f"{sys.executable} -m pip install ansible-core",
        )
    return Path(found)


def _version(vpn: Vpn) -> str | None:
    try:
        return vpn.version(HERE)
    except CulvertError:
        return None


def _joined(versions: dict[str, str]) -> str | None:
    """One version, or each version with its variants if they differ."""
    variants: dict[str, list[str]] = {}
    for variant, version in versions.items():
        variants.setdefault(version, []).append(variant)
    if len(variants) <= 1:
        return next(iter(variants), None)
    return "; ".join(f"{', '.join(names)}: {version}" for version, names in variants.items())
