"""An Ansible inventory (INI or YAML), read by Ansible itself: groups and variables as there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    Field,
    StringConstraints,
    ValidationError,
)

from culvert.errors import UsageError
from culvert.labs.hosts.listed import listing
from culvert.labs.room import NoRoom
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
_NAMED = 3
_VAULT = "__ansible_vault"
_UNSAFE = "__ansible_unsafe"
"""The keys of a value that Ansible Vault encrypts, and of one that is no template, in its list."""


@dataclass(frozen=True)
class HostEntry:
    """How to reach a host, and what it is for.

    ``destination`` is what OpenSSH gets: a name of its configuration, or an address. ``port``,
    ``user`` and ``key_file`` None: as OpenSSH's configuration has them. ``arguments`` are further
    arguments of ssh. ``sudo_password`` is never shown. ``measured`` is the address of the measured
    link; None: the one that the other host is reached from. ``nodes`` are the nodes of a topology,
    or the roles, that this host may be; empty: any. ``shared_links`` are names of links that this
    host shares with others: paths over them are not measured at the same time.
    """

    name: str
    destination: str
    port: int | None = None
    user: str | None = None
    key_file: str | None = None
    arguments: tuple[str, ...] = ()
    sudo_password: str | None = field(default=None, repr=False)
    measured: str | None = None
    nodes: tuple[str, ...] = ()
    shared_links: tuple[str, ...] = ()
    tools: str = "/var/lib/culvert/tools"
    """The directory on the host into which the Ansible roles put programs."""
    inventory: Path = Path("hosts.yml")
    """The file that names it."""


@dataclass(frozen=True)
class Inventory:
    """Its hosts in the order of the file."""

    path: Path
    hosts: tuple[HostEntry, ...]

    def assign(self, topology: Topology) -> dict[str, HostEntry]:
        """The host of each node, routers of the topology left out: the real network replaces them.

        First hosts with the variable ``culvert_node``, then by groups named after roles, then the
        remaining hosts without a role in their order. Raises NoRoom if there are too few,
        with the largest number of clients that have one.
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
            names = " and ".join(map(_shown, lacking[:_NAMED]))
            more = len(lacking) - _NAMED
            raise NoRoom(
                f"inventory {self.path}",
                f"{len(self.hosts)} hosts for {len(nodes)} nodes of the topology {topology.name}: "
                f"none is left for {names}" + (f" and {more} more" if more > 0 else ""),
                f"add hosts, or {_fewer(topology, found, lacking)}; a host without a group serves "
                f"as any node, those in {', '.join(GROUPS)} as these only: {_DOCUMENTED}",
            )
        return {node.name: found[node.name] for node in nodes}


def _fewer(topology: Topology, found: Mapping[str, HostEntry], lacking: Sequence[NodeSpec]) -> str:
    """What else would help: fewer clients, if hosts of theirs can be the other nodes too."""
    clients = topology.of_role(Role.CLIENT)
    left = len(clients) - len(lacking)
    others = sum(node.role is not Role.CLIENT for node in lacking)
    free = sum(not found[node.name].nodes for node in clients if node.name in found)
    if left > 0 and others <= free:
        return f"use at most {left} clients (also in [lab])"
    return "leave out VPNs that need servers"


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
        raise UsageError(
            f"inventory {path}", "it contains no hosts", f"add hosts to it: {_DOCUMENTED}"
        )
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


def _either(name: str) -> AliasChoices:
    return AliasChoices(f"ansible_{name}", f"ansible_ssh_{name}")


def _plain(value: object) -> object:
    """A value as the file has it: a list for one name, text for a number, what is no template."""
    if isinstance(value, Mapping):
        return value.get(_UNSAFE, value)
    return str(value) if isinstance(value, int | float) else value


def _names(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _is_encrypted(value: object) -> bool:
    return isinstance(value, Mapping) and _VAULT in value


def _is_open(value: object) -> object:
    if _is_encrypted(value):
        raise ValueError(
            "Ansible Vault encrypts it: encrypt the whole file (ansible-vault encrypt), or use "
            "--ask-sudo-password"
        )
    return value


def _split(value: object) -> object:
    """As a shell does."""
    return shlex.split(value) if isinstance(value, str) else value


# Without control characters, such as a zero byte, which no argument of a program can have.
_Text = Annotated[str, BeforeValidator(_plain), StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]
_Words = Annotated[list[str], BeforeValidator(_split)]
_PASSWORDS = ("ansible_become_password", "ansible_become_pass", "ansible_sudo_pass")


class _Variables(BaseModel):
    """A host's variables by Ansible's names and ours; others are left out."""

    connection: Literal["ssh", "smart"] = Field("ssh", alias="ansible_connection")
    host: _Text | None = Field(None, validation_alias=_either("host"))
    port: int | None = Field(None, gt=0, lt=1 << 16, validation_alias=_either("port"))
    user: _Text | None = Field(None, validation_alias=_either("user"))
    key_file: _Text | None = Field(None, alias="ansible_ssh_private_key_file")
    common: _Words = Field([], alias="ansible_ssh_common_args")
    extra: _Words = Field([], alias="ansible_ssh_extra_args")
    password: Annotated[_Text, BeforeValidator(_is_open)] | None = Field(
        None, validation_alias=AliasChoices(*_PASSWORDS)
    )
    measured: IPv4Address | None = Field(None, alias="culvert_address")
    node: _Text = Field("", alias="culvert_node")
    shared_links: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        (), alias="culvert_shared_links"
    )
    tools: _Text = Field(HostEntry.tools, alias="culvert_tools")


def _entry(
    path: Path,
    name: str,
    variables: Mapping[str, Any],
    groups: Sequence[str],
    sudo_password: str | None,
) -> HostEntry:
    if not name.isprintable():
        raise UsageError(
            f"inventory {path}, host {name!r}", "its name has unprintable characters", "rename it"
        )
    given = {key: value for key, value in variables.items() if value is not None}
    if sudo_password is not None:  # typed in place of one that Ansible Vault encrypts
        for key in _PASSWORDS:
            if _is_encrypted(given.get(key)):
                given[key] = sudo_password
    try:
        read = _Variables.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        why = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            f"inventory {path}, host {name}, {first['loc'][0]}", why, f"correct it: {_DOCUMENTED}"
        ) from None
    return HostEntry(
        name=name,
        destination=read.host or name,
        port=read.port,
        user=read.user,
        key_file=read.key_file,
        arguments=(*read.common, *read.extra),
        sudo_password=read.password or sudo_password,
        measured=None if read.measured is None else str(read.measured),
        nodes=(read.node,) if read.node else tuple(str(GROUPS[group]) for group in groups),
        shared_links=read.shared_links,
        tools=read.tools,
        inventory=path,
    )


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
