"""Inventories that somebody made to do harm: refused soon, in words, and nothing is executed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from culvert.errors import UsageError
from culvert.labs.hosts import listing
from culvert.labs.hosts.inventory import inventory_of, read_inventory
from culvert.waiting import wait_until
from tests.cli import Cli

AT_ONCE_S = 0.5
SOON_S = 2.0


def of(name: str = "a", **variables: Any) -> Any:
    listed = {"all": {"hosts": [name]}, "_meta": {"hostvars": {name: variables}}}
    return inventory_of(Path("hosts.yml"), listed).hosts[0]


@pytest.mark.parametrize(
    "kind", ["pipe", "zero", "null", "huge", "missing", "dangling", "unreadable"]
)
def test_what_is_no_inventory_is_refused_before_ansible_is_started(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "hosts.yml"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "zero" | "null":
            path = Path(f"/dev/{kind}")
        case "huge":
            path.touch()
            os.truncate(path, 100 << 20)
        case "dangling":
            path.symlink_to("nowhere")
        case "unreadable":
            path.symlink_to(path)
    begun = time.monotonic()
    with pytest.raises(UsageError) as caught:
        read_inventory(path)
    assert time.monotonic() - begun < AT_ONCE_S
    assert caught.value.remedy
    assert path not in listing._begun


def _doubled(line: str, first: str) -> str:
    """Nine levels, each of which holds the one before it ten times."""
    text = f"all:\n  hosts:\n    h:\n      a: &a {first}\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True):
        text += f"      {new}: &{new} {line % ', '.join([f'*{old}'] * 10)}\n"
    return text


BOMBS = {
    "aliases": ("hosts.yml", _doubled("[%s]", "[x]"), "more than 300000 values"),
    "aliases without a suffix": ("hosts", _doubled("[%s]", "[x]"), "more than 300000 values"),
    "merge keys": ("hosts.yml", _doubled("{<<: [%s]}", "{x: 1}"), "more than 300000 values"),
    "an alias of itself": ("hosts.yml", "all: &a\n  hosts: {h: {v: *a}}\n", "part of"),
    "a long text, often": (
        "hosts.yml",
        f"all:\n  hosts:\n    h: {{a: &a '{'x' * 99_999}', b: [{'*a, ' * 1000}]}}\n",
        "more than 16777216 characters",
    ),
    "deep lists": ("hosts.yml", "all: " + "[" * 100_000, "nested too deeply"),
    "deep lists in JSON": ("hosts.json", '{"all": ' + "[" * 100_000, "nested too deeply"),
    "many values": ("hosts.yml", "all:\n  vars:\n    a: [" + "x," * 400_000, "300000 values"),
    "a number of base 60": ("hosts.yml", f"all:\n  vars:\n    a: 1{':1' * 10**6}\n", "60 digits"),
    "keys of one hash": (
        "hosts.yml",
        "all:\n  vars:\n" + "".join(f"    {(2**61 - 1) * n}: 1\n" for n in range(1, 50_000)),
        "17 digits",
    ),
    "hosts": ("hosts.ini", "a[1:99999999]\n", "10000 hosts"),
    "hosts in YAML": ("hosts.yml", "all:\n  hosts:\n    'a[1:999][1:999]': {}\n", "10000 hosts"),
    "hosts by letters": ("hosts.ini", "[a:z][a:z][a:z][a:z] x=1\n", "10000 hosts"),
    "hosts by many digits": ("hosts.ini", f"a[1:{'9' * 5000}]\n", "10000 hosts"),
    "variables of hosts": ("host_vars/h.yml", _doubled("[%s]", "[x]"), "300000 values"),
    "variables of groups": ("group_vars/all/x", _doubled("[%s]", "[x]"), "300000 values"),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("whole", [False, True], ids=["file", "directory"])
def test_a_bomb_is_refused_soon(tmp_path: Path, name: str, whole: bool) -> None:
    file, text, why = BOMBS[name]
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    inventory = tmp_path if whole else path
    if path.parent != tmp_path and not whole:
        inventory = tmp_path / "hosts.yml"
        inventory.write_text("all: {hosts: {h: {}}}\n")
    begun = time.monotonic()
    with pytest.raises(UsageError, match=why) as caught:
        read_inventory(inventory)
    assert time.monotonic() - begun < SOON_S
    assert str(path) in caught.value.what
    assert caught.value.remedy
    assert not listing._begun


def test_a_pipe_among_the_variables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "hosts.yml"
    path.write_text("all: {hosts: {h: {}}}\n")
    (tmp_path / "group_vars").mkdir()
    os.mkfifo(tmp_path / "group_vars/all.yml")
    with pytest.raises(UsageError, match="a pipe"):
        read_inventory(path)


def test_what_takes_ansible_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Escapes hide the range from a look at the text."""
    monkeypatch.setattr(listing, "ALONE_S", 2)
    path = tmp_path / "hosts.yml"
    path.write_text('all:\n  hosts:\n    "a\\x5b1:99999999]": {}\n')
    with pytest.raises(UsageError, match="within 2 s of a processor's time") as caught:
        read_inventory(path)
    assert "ansible-inventory -i" in caught.value.remedy


def test_groups_that_are_in_many_groups_are_looked_at_once() -> None:
    """Two groups of each level hold both of the next: 2^200 ways lead to the last."""
    levels = range(200)
    listed: dict[str, Any] = {
        f"{name}{level}": {"children": [f"a{level + 1}", f"b{level + 1}"]}
        for level in levels
        for name in "ab"
    }
    listed |= {"all": {"children": ["a0", "b0", "members"]}, "members": {"children": ["b0"]}}
    listed |= {"a200": {"hosts": ["one"]}, "b200": {"hosts": ["two"]}}
    hosts = inventory_of(Path("hosts.yml"), listed).hosts
    assert [(host.name, host.nodes) for host in hosts] == [
        ("one", ("member",)),
        ("two", ("member",)),
    ]


def test_a_chain_of_many_groups_ends() -> None:
    listed: dict[str, Any] = {f"g{n}": {"children": [f"g{n + 1}"]} for n in range(5000)}
    listed |= {"all": {"children": ["g0"]}, "g5000": {"hosts": ["h"]}}
    assert [host.name for host in inventory_of(Path("x"), listed).hosts] == ["h"]


def test_a_command_names_it(say: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hosts.yml")
    for words in (
        ("run", "quick", "--lab", "hosts", "--inventory", tmp_path / "hosts.yml"),
        ("hosts", "check", "--inventory", tmp_path / "hosts.yml"),
        ("hosts", "install", "none", "--inventory", tmp_path / "hosts.yml"),
    ):
        say(*words).refused(2, "it is a pipe, not a file")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("all:\n  hosts:\n    a: {x: !!python/object/apply:os.system ['touch pwned']}\n", "cannot"),
        ("all:\n  hosts:\n    a: {ansible_become_password: !vault '$ANSIBLE_VAULT;1.1;AES256'}\n",
         "Vault encrypts it"),
        ("\0" * 100, "cannot be printed"),
    ],
)  # fmt: skip
def test_what_ansible_reads_or_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "hosts.yml"
    path.write_text(text)
    with pytest.raises(UsageError, match=why):
        read_inventory(path)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("script", ["sleep 1000", "cat /dev/zero"])
def test_an_inventory_that_never_ends_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """Ansible runs an inventory that is a program."""
    monkeypatch.setattr(listing, "READ_S", 3.0)
    monkeypatch.setattr(listing, "MOST_MEMORY", 256 << 20)
    path, pid = tmp_path / "hosts.sh", tmp_path / "pid"
    path.write_text(f"#!/bin/sh\n{script} &\necho $! > {pid}\nwait\n")
    path.chmod(0o755)
    with pytest.raises(UsageError, match="read it"):
        read_inventory(path)
    started = Path(f"/proc/{pid.read_text().strip()}")
    wait_until(lambda: not started.exists(), what="the end of what it started", deadline_s=5)


@pytest.mark.parametrize(
    "variables",
    [
        {"ansible_port": "²"},
        {"ansible_port": "٢٢"},
        {"ansible_port": True},
        {"ansible_port": [22]},
        {"ansible_port": "9" * 5000},
        {"ansible_host": ["a"]},
        {"ansible_host": {"a": 1}},
        {"ansible_host": "a\0b"},
        {"ansible_user": "root\n"},
        {"ansible_user": {"x": 1}},
        {"ansible_ssh_private_key_file": ["x"]},
        {"ansible_ssh_common_args": {"x": 1}},
        {"ansible_become_password": {"__ansible_vault": "x"}},
        {"ansible_become_password": ["x"]},
        {"ansible_connection": ["ssh", "local"]},
        {"culvert_node": {"x": 1}},
        {"culvert_tools": ["/"]},
        {"culvert_address": ["10.0.0.1"]},
        {"culvert_shared_links": {"x": 1}},
    ],
)
def test_a_value_of_a_wrong_type_is_named(variables: dict[str, Any]) -> None:
    (key,) = variables
    with pytest.raises(UsageError, match=key) as caught:
        of(**variables)
    assert caught.value.remedy


def test_what_is_no_template_is_its_text() -> None:
    assert of(ansible_become_password={"__ansible_unsafe": "a{{b"}).sudo_password == "a{{b"


def test_a_password_that_is_typed_replaces_one_that_is_encrypted() -> None:
    variables = {"a": {"ansible_become_password": {"__ansible_vault": "x"}}}
    listed = {"all": {"hosts": ["a"]}, "_meta": {"hostvars": variables}}
    (host,) = inventory_of(Path("hosts.yml"), listed, sudo_password="typed").hosts
    assert host.sudo_password == "typed"


def test_a_null_is_as_if_it_were_missing() -> None:
    assert of(ansible_host=None, ansible_user=None).destination == "a"


@pytest.mark.parametrize("name", ["a\nb", "\u202eb", "\x1b[2J", "\0"])
def test_a_name_that_cannot_be_printed_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be printed"):
        of(name)
