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
        ("all: &a\n  hosts: {h: {v: *a}}\n", "cannot"),
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
