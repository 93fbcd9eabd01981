"""An Ansible inventory (INI or YAML), read by Ansible itself: groups and variables as there."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Any

from culvert.errors import UsageError
from culvert.labs.hosts import listing
from culvert.labs.hosts.entry import HostEntry
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
            names = ", ".join(f"{node.name} ({node.role})" for node in lacking)
            raise UsageError(
                f"inventory {self.path}",
                f"it has no host for {names} of topology {topology.name}: {len(self.hosts)} hosts "
                f"for {len(nodes)} nodes",
                f"add hosts, or put them into the groups {', '.join(GROUPS)}: {_DOCUMENTED}",
            )
        return {node.name: found[node.name] for node in nodes}


def _named(host: HostEntry, node: NodeSpec) -> bool:
    return node.name in host.nodes


def _of_role(host: HostEntry, node: NodeSpec) -> bool:
    return str(node.role) in host.nodes


def _of_none(host: HostEntry, node: NodeSpec) -> bool:
    del node
    return not host.nodes


def read_inventory(path: Path, *, sudo_password: str | None = None) -> Inventory:
    """Raises UsageError that names the host and the variable."""
    if not path.exists():
        raise UsageError(f"inventory {path}", "does not exist", "check the path")
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
        _entry(path, name, variables.get(name, {}), groups.get(name, ())) for name in names
    )
    if sudo_password is not None:
        hosts = tuple(
            host if host.sudo_password else replace(host, sudo_password=sudo_password)
            for host in hosts
        )
    _refuse_twice(path, hosts)
    return Inventory(path, hosts)


def _in_order(listed: Mapping[str, Any], group: str) -> Sequence[str]:
    """The hosts of a group and its groups."""
    found = listed.get(group, {})
    hosts = list(found.get("hosts", ()))
    for child in found.get("children", ()):
        hosts += _in_order(listed, child)
    return hosts


def _groups(listed: Mapping[str, Any]) -> dict[str, list[str]]:
    """The groups of each host, those above its own included."""
    groups: dict[str, list[str]] = {}
    for group in listed:
        if group not in ("_meta", "all", "ungrouped"):
            for host in _in_order(listed, group):
                groups.setdefault(host, []).append(group)
    return groups


def _entry(path: Path, name: str, variables: Mapping[str, Any], groups: Sequence[str]) -> HostEntry:
    where = f"inventory {path}, host {name}"

    def refuse(key: str, why: str, remedy: str) -> UsageError:
        return UsageError(f"{where}, {key}", why, remedy)

    connection = variables.get("ansible_connection", "ssh")
    if connection not in ("ssh", "smart"):
        raise refuse(
            "ansible_connection", f"'{connection}' is no SSH", "leave it out: hosts need sshd"
        )
    arguments: list[str] = []
    for key in ("ansible_ssh_common_args", "ansible_ssh_extra_args"):
        try:
            arguments += shlex.split(str(variables.get(key) or ""))
        except ValueError as error:
            raise refuse(
                key, f"it cannot be split into words: {error}", "check its quotes"
            ) from None
    port = variables.get("ansible_port", variables.get("ansible_ssh_port"))
    if port is not None and not (str(port).isdigit() and 0 < int(port) < 1 << 16):
        raise refuse("ansible_port", f"'{port}' is no port", "write a number from 1 to 65535")
    measured = variables.get("culvert_address")
    if measured is not None:
        try:
            measured = str(IPv4Address(str(measured)))
        except AddressValueError:
            raise refuse(
                "culvert_address",
                f"'{measured}' is no IPv4 address",
                "write the host's address on the link to measure, or leave it out",
            ) from None
    roles = [str(GROUPS[group]) for group in groups if group in GROUPS]
    node = variables.get("culvert_node")
    password = variables.get("ansible_become_password", variables.get("ansible_become_pass"))
    return HostEntry(
        name=name,
        destination=str(variables.get("ansible_host", variables.get("ansible_ssh_host", name))),
        port=None if port is None else int(port),
        user=_text(variables.get("ansible_user", variables.get("ansible_ssh_user"))),
        key_file=_text(variables.get("ansible_ssh_private_key_file")),
        arguments=tuple(arguments),
        sudo_password=_text(password),
        measured=measured,
        nodes=(str(node),) if node else tuple(roles),
        shared_links=_names(variables.get("culvert_shared_links", ()), refuse),
        tools=str(variables.get("culvert_tools", HostEntry.tools)),
        variables=dict(variables),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _names(value: object, refuse: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(map(str, value))
    error: UsageError = refuse(
        "culvert_shared_links", f"'{value}' is no list of names", 'write ["uplink"]'
    )
    raise error


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
