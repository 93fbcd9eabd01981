"""Inventories with mistakes: each is named, with its remedy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from culvert.commands.labs.hosts import hosts_install
from culvert.errors import UsageError
from culvert.install import on_hosts
from culvert.labs.hosts.listed import listing, password
from culvert.labs.hosts.listed.inventory import inventory_of, read_inventory
from culvert.waiting import wait_until
from tests.cli import Cli


def of(name: str = "a", **variables: Any) -> Any:
    listed = {"all": {"hosts": [name]}, "_meta": {"hostvars": {name: variables}}}
    return inventory_of(Path("hosts.yml"), listed).hosts[0]


@pytest.mark.parametrize("kind", ["pipe", "null", "missing", "dangling", "a link to itself"])
def test_what_is_no_file_is_refused_before_ansible_is_started(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "hosts.yml"
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "null":
            path = Path("/dev/null")
        case "dangling":
            path.symlink_to("nowhere")
        case "a link to itself":
            path.symlink_to(path)
    with pytest.raises(UsageError, match=r"neither a file nor|does not exist") as caught:
        read_inventory(path)
    assert caught.value.remedy
    assert path not in listing._begun


def test_a_command_names_it(say: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hosts.yml")
    for words in (
        ("run", "quick", "--lab", "hosts", "--inventory", tmp_path / "hosts.yml"),
        ("hosts", "check", "--inventory", tmp_path / "hosts.yml"),
        ("hosts", "install", "none", "--inventory", tmp_path / "hosts.yml"),
    ):
        say(*words).refused(2, "neither a file nor a directory")


def test_leaks_are_not_measured_on_hosts(say: Cli, tmp_path: Path) -> None:
    """However many hosts there are: said before any is reached."""
    inventory, out = tmp_path / "hosts.ini", tmp_path / "run"
    inventory.write_text("[all]\na\nb\n")
    words = ("run", "leaks", "--lab", "hosts", "--inventory", inventory, "--out", out)
    say(*words).refused(3, "topology public", "SSH connection", "lab netns")
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("all:\n  hosts:\n    a: {x: !!python/object/apply:os.system ['touch pwned']}\n", "cannot"),
        ("all:\n  hosts:\n    a: {ansible_become_password: !vault '$ANSIBLE_VAULT;1.1;AES256'}\n",
         "Vault encrypts it"),
        ("\0" * 100, "unprintable characters"),
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


def test_no_home_directory_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/proc/none")
    monkeypatch.delenv("ANSIBLE_HOME", raising=False)
    path = tmp_path / "hosts.ini"
    path.write_text("a\n")
    assert [host.name for host in read_inventory(path).hosts] == ["a"]


def test_a_long_reading_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(listing, "QUIET_S", 0.0)
    path = tmp_path / "hosts.ini"
    path.write_text("a\n")
    assert [host.name for host in read_inventory(path).hosts] == ["a"]
    assert capsys.readouterr().err == f"reading inventory {path}\n"


@pytest.mark.lab
@pytest.mark.parametrize("script", ["sleep 1000", "cat /dev/zero"])
def test_ctrl_c_ends_an_inventory_that_never_ends(tmp_path: Path, script: str) -> None:
    """Ansible runs an inventory that is a program."""
    path, pid = tmp_path / "hosts.sh", tmp_path / "pid"
    path.write_text(f"#!/bin/sh\necho $$ > {pid}.new; mv {pid}.new {pid}; exec {script}\n")
    path.chmod(0o755)
    reading = subprocess.Popen(
        [sys.executable, "-m", "culvert", "hosts", "check", "--inventory", str(path)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with reading:
        try:
            wait_until(pid.exists, what="the inventory's program had started", deadline_s=60)
        finally:
            os.killpg(reading.pid, signal.SIGINT)
        assert reading.wait(60) != 0
    started = Path(f"/proc/{pid.read_text().strip()}")
    wait_until(lambda: not started.exists(), what="the end of what it started", deadline_s=60)


@pytest.mark.parametrize(
    "variables",
    [
        {"ansible_port": "²"},
        {"ansible_port": "٢٢"},
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


@pytest.mark.parametrize("theirs", [12345, "12345"])
def test_a_password_that_is_typed_does_not_replace_a_readable_one(theirs: object) -> None:
    listed = {
        "all": {"hosts": ["a"]},
        "_meta": {"hostvars": {"a": {"ansible_become_pass": theirs}}},
    }
    (host,) = inventory_of(Path("hosts.yml"), listed, sudo_password="typed").hosts
    assert host.sudo_password == "12345"


def test_a_password_cannot_be_typed_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_: str) -> str:
        raise EOFError

    monkeypatch.setattr(password, "getpass", nothing)
    assert password.typed(asked=False) is None
    with pytest.raises(UsageError, match="--ask-sudo-password: there is no terminal"):
        password.typed(asked=True)


def test_an_installation_takes_the_typed_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In place of one that Ansible Vault encrypts."""
    path, taken = tmp_path / "hosts.yml", list[tuple[Any, ...]]()

    def install(*given: Any) -> list[Any]:
        taken.append(given)
        return []

    path.write_text("all:\n  hosts:\n    a: {ansible_become_password: !vault 'x'}\n")
    monkeypatch.setattr(password, "getpass", lambda _: "typed")
    monkeypatch.setattr(on_hosts, "install_on_hosts", install)
    hosts_install(["none"], path, ask_sudo_password=True)
    ((_, _, (host,), sudo_password),) = taken
    assert (host.sudo_password, sudo_password) == ("typed", "typed")


def test_a_null_is_as_if_it_were_missing() -> None:
    assert of(ansible_host=None, ansible_user=None).destination == "a"


@pytest.mark.parametrize("name", ["a\nb", "\u202eb", "\x1b[2J", "\0"])
def test_a_name_that_cannot_be_printed_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unprintable characters"):
        of(name)
