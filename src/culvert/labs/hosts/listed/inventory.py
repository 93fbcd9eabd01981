"""An Ansible inventory (INI or YAML), read by Ansible itself: groups and variables as there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

from culvert.errors import UsageError
from culvert.labs.hosts.listed import listing
from culvert.labs.hosts.listed.entry import HostEntry
from culvert.topology.graph import NodeSpec, Role, Topology

GROUPS: Mapping[str, Role] = {
    "members": Role.MEMBER,
    "clients": Role.CLIENT,
    "gateways": Role.GATEWAY,
    "control": Role.CONTROL,
    "relays": Role.RELAY,
}
"""Groups of an inventory that name the role of their hosts."""
_DOCUMENTED = "see docs/hosts.md"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Such as a zero byte, which no argument of a program can have."""
_PORT = re.compile(r"[0-9]{1,5}")
_PASSWORDS = ("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")
_VAULT = "__ansible_vault"
_UNSAFE = "__ansible_unsafe"
"""The keys of a value that Ansible Vault encrypts, and of one that is no template, in its list."""


@dataclass(frozen=True)
class Inventory:
    """Its hosts in the order of the file."""

    path: Path
    hosts: tuple[HostEntry, ...]

    def assign(self, topology: Topology) -> dict[str, HostEntry]:
        """The host of each node, routers of the topology left out: the real network replaces them.

        First hosts with the variable ``culvert_node``, then by groups named after roles, then the
        remaining hosts without a role in their order. Raises UsageError if there are too few.
        """
        free = list(self.hosts)
        nodes = [node for node in topology.nodes if node.role is not Role.ROUTER]
        found: dict[str, HostEntry] = {}
        for fits in (_named, _of_role, _of_none):
            for node in nodes:
                if node.name in found:
                    continue
                host = next((each for each in free if fits(each, node)), None)
                if host is not None:
                    found[node.name] = host
                    free.remove(host)
        lacking = [node for node in nodes if node.name not in found]
        if lacking:
            names = " and ".join(map(_shown, lacking))
            raise UsageError(
                f"inventory {self.path}",
                f"{len(self.hosts)} hosts for {len(nodes)} nodes of the topology {topology.name}: "
                f"there is no host for {names}",
                "add hosts, or leave out VPNs that need servers; a host without a group serves "
                f"as any node, those in {', '.join(GROUPS)} as these only: {_DOCUMENTED}",
            )
        return {node.name: found[node.name] for node in nodes}


def _shown(node: NodeSpec) -> str:
    return node.name if node.name == node.role else f"{node.name} ({node.role})"


def _named(host: HostEntry, node: NodeSpec) -> bool:
    return node.name in host.nodes


def _of_role(host: HostEntry, node: NodeSpec) -> bool:
    return str(node.role) in host.nodes


def _of_none(host: HostEntry, node: NodeSpec) -> bool:
    del node
    return not host.nodes


def read_inventory(path: Path, *, sudo_password: str | None = None) -> Inventory:
    """Raises UsageError that names the host and the variable."""
    return inventory_of(path, listing.of(path), sudo_password=sudo_password)


def inventory_of(
    path: Path, listed: Mapping[str, Any], *, sudo_password: str | None = None
) -> Inventory:
    """From what ``ansible-inventory --list`` prints. Raises UsageError."""
    variables: dict[str, dict[str, Any]] = listed.get("_meta", {}).get("hostvars", {})
    groups = _groups(listed)
    names = list(dict.fromkeys(_in_order(listed, "all")))
    if not names:
        raise UsageError(f"inventory {path}", "it has no host", f"add hosts to it: {_DOCUMENTED}")
    hosts = tuple(
        _entry(path, name, variables.get(name, {}), groups.get(name, ()), sudo_password)
        for name in names
    )
    _refuse_twice(path, hosts)
    return Inventory(path, hosts)


def _in_order(listed: Mapping[str, Any], group: str) -> Iterator[str]:
    """The hosts of a group, then those of its groups; a host may be in several."""
    found = listed.get(group, {})
    yield from found.get("hosts", ())
    for child in found.get("children", ()):
        yield from _in_order(listed, child)


def _groups(listed: Mapping[str, Any]) -> dict[str, list[str]]:
    """The groups of each host that name a role."""
    groups: dict[str, list[str]] = {}
    for group in listed:
        if group in GROUPS:
            for host in dict.fromkeys(_in_order(listed, group)):
                groups.setdefault(host, []).append(group)
    return groups


def _entry(
    path: Path,
    name: str,
    variables: Mapping[str, Any],
    groups: Sequence[str],
    sudo_password: str | None,
) -> HostEntry:
    if not name.isprintable():
        raise UsageError(
            f"inventory {path}, host {name!r}", "its name cannot be printed", "give it another"
        )
    given = _Variables(f"inventory {path}, host {name}", variables)
    if variables.get("ansible_connection", "ssh") not in ("ssh", "smart"):
        raise given.refusal("ansible_connection", "is not ssh", "leave it out: hosts need sshd")
    roles = [str(GROUPS[group]) for group in groups]
    node = given.text("culvert_node")
    return HostEntry(
        name=name,
        destination=given.text("ansible_host", "ansible_ssh_host") or name,
        port=given.port("ansible_port", "ansible_ssh_port"),
        user=given.text("ansible_user", "ansible_ssh_user"),
        key_file=given.text("ansible_ssh_private_key_file"),
        arguments=given.words("ansible_ssh_common_args", "ansible_ssh_extra_args"),
        sudo_password=given.password(sudo_password),
        measured=given.address("culvert_address"),
        nodes=(node,) if node else tuple(roles),
        shared_links=given.names("culvert_shared_links"),
        tools=given.text("culvert_tools") or HostEntry.tools,
        inventory=path,
        variables=dict(variables),
    )


@dataclass(frozen=True)
class _Variables:
    """A host's variables, of any type. Where several names are given, the first that is there
    counts. Raises UsageError that names the variable."""

    where: str
    values: Mapping[str, Any]

    def text(self, *keys: str) -> str | None:
        key, value = self._first(keys)
        if isinstance(value, Mapping) and _UNSAFE in value:
            value = value[_UNSAFE]
        if isinstance(value, Mapping | list):
            raise UsageError(f"{self.where}, {key}", "it is not text", "write one value")
        if value is not None and _CONTROL.search(str(value)):
            raise UsageError(f"{self.where}, {key}", "it has a control character", "remove it")
        return None if value is None else str(value)

    def password(self, typed: str | None) -> str | None:
        """That of the inventory, else the one that was typed in."""
        key, value = self._first(_PASSWORDS)
        if not (isinstance(value, Mapping) and _VAULT in value):
            return self.text(key) or typed
        if typed is None:
            raise UsageError(
                f"{self.where}, {key}",
                "Ansible Vault encrypts it",
                "encrypt the whole file (ansible-vault encrypt), or use --ask-sudo-password",
            )
        return typed

    def port(self, *keys: str) -> int | None:
        key, value = self._first(keys)
        if value is None:
            return None
        if not _PORT.fullmatch(str(value)) or not 0 < int(value) < 1 << 16:
            raise self.refusal(key, "is not a port", "write a number from 1 to 65535")
        return int(value)

    def words(self, *keys: str) -> tuple[str, ...]:
        """Of all of the variables, split as a shell does."""
        found: list[str] = []
        for key in keys:
            try:
                found += shlex.split(self.text(key) or "")
            except ValueError as error:
                why = f"it cannot be split into words: {error}"
                raise UsageError(f"{self.where}, {key}", why, "check its quotes") from None
        return tuple(found)

    def address(self, key: str) -> str | None:
        value = self.values.get(key)
        try:
            return None if value is None else str(IPv4Address(str(value)))
        except AddressValueError:
            raise self.refusal(
                key,
                "is not an IPv4 address",
                "write the host's address on the link to measure, or leave it out",
            ) from None

    def names(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key, ())
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list | tuple):
            return tuple(map(str, value))
        raise self.refusal(key, "is not a list of names", 'write ["uplink"]')

    def refusal(self, key: str, why: str, remedy: str) -> UsageError:
        return UsageError(f"{self.where}, {key}", f"'{self.values.get(key)}' {why}", remedy)

    def _first(self, keys: Sequence[str]) -> tuple[str, Any]:
        key = next((one for one in keys if one in self.values), keys[0])
        return key, self.values.get(key)


def _refuse_twice(path: Path, hosts: Sequence[HostEntry]) -> None:
    seen: dict[tuple[object, ...], str] = {}
    for host in hosts:
        place = (host.destination, host.port, host.arguments)
        if place in seen:
            raise UsageError(
                f"inventory {path}",
                f"{seen[place]} and {host.name} are the same host ({host.destination})",
                "leave one of them out: each node needs a host of its own",
            )
        seen[place] = host.name
