"""Installing VPNs on the hosts of an inventory: one playbook, many hosts at the same time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.install.log import append
from culvert.install.roles import play, playbook_program, roles_path, wanted_vpns
from culvert.journal.record import InstallRecord
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.ssh.command import KNOWN_KEYS_ONLY
from culvert.vpns import registry

FORKS = 50
SSH_ARGUMENTS = " ".join(
    (
        "-C -o ControlMaster=auto -o ControlPersist=60s",
        *(f"-o {option}" for option in KNOWN_KEYS_ONLY),
    )
)
"""Ansible's own default, and the host keys' rule: first on ssh's command line, so that nothing in
the user's configuration or in the inventory weakens it."""


@dataclass(frozen=True)
class HostInstall:
    """Tasks of a role on one host, by their outcome."""

    host: str
    ok: int
    changed: int
    failed: int
    unreachable: bool

    @property
    def done(self) -> bool:
        """Whether the role was applied."""
        return not self.failed and not self.unreachable


@dataclass(frozen=True)
class HostsInstall:
    """One VPN on all hosts. ``playbook_lines`` are those of its role, without comments and empty
    lines: a measure of effort (mackey2020)."""

    vpn: str
    role: str
    duration_s: float
    playbook_lines: int
    hosts: tuple[HostInstall, ...]
    failures: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the role was applied on every host."""
        return all(host.done for host in self.hosts) and not self.failures


def install_on_hosts(
    names: Sequence[str], inventory: Path, hosts: Sequence[HostEntry], sudo_password: str | None
) -> list[HostsInstall]:
    """Install VPNs one after another, each on all hosts at the same time; a second time nothing
    changes. Raises UsageError for unknown names, NotPossible without Ansible."""
    playbook_program()
    variables = {
        # Where check and run search on each host: an extra variable has precedence over those of
        # the inventory.
        "culvert_tools": "{{ culvert_tools_of[inventory_hostname] }}",
        "culvert_tools_of": {host.name: host.tools for host in hosts},
        "ansible_ssh_args": SSH_ARGUMENTS,
        "ansible_become": True,
        **({"ansible_become_password": sudo_password} if sudo_password else {}),
    }
    results = []
    for name, ids in wanted_vpns(names).items():
        driver = registry.installed().driver(name)
        if driver.role is None:
            continue
        begun = time.monotonic()
        keys = {"ANSIBLE_HOST_KEY_CHECKING": "True"}
        done = play(driver, ids, str(inventory.absolute()), variables, keys, forks=FORKS)
        results.append(
            HostsInstall(
                name,
                driver.role,
                time.monotonic() - begun,
                playbook_lines(driver.role, roles_path(driver)),
                tuple(_host(host.name, done.stats) for host in hosts),
                done.failures,
            )
        )
    append(
        [
            InstallRecord(one.vpn, one.role, one.duration_s, changed=True, ok=one.ok)
            for one in results
            if any(host.changed for host in one.hosts)
        ]
    )
    return results


def playbook_lines(role: str, places: Sequence[Path]) -> int:
    """Lines of a role's YAML files that are neither empty nor a comment."""
    folder = next((place / role for place in places if (place / role).is_dir()), None)
    if folder is None:
        return 0
    texts = (path.read_text("utf-8") for path in folder.rglob("*.yml"))
    lines = [line.strip() for text in texts for line in text.splitlines()]
    return sum(1 for line in lines if line and line != "---" and not line.startswith("#"))


def _host(name: str, stats: Mapping[str, Mapping[str, int]]) -> HostInstall:
    def count(kind: str) -> int:
        return int((stats.get(kind) or {}).get(name, 0))

    return HostInstall(
        name, count("ok"), count("changed"), count("failures"), count("dark") > 0 or not stats
    )
