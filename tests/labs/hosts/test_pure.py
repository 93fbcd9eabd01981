"""CPUs, architectures and errors of ssh: no host is needed."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert import tools
from culvert.errors import NotPossible
from culvert.labs.hosts.demo import CONTROLLER, DemoHosts
from culvert.labs.hosts.facts.cpus import PER_NODE, imagined, own_cpus
from culvert.labs.hosts.links.real_links import possible, refuse_emulated
from culvert.labs.hosts.listed.inventory import HostEntry
from culvert.labs.hosts.ssh.connection import SshConnection
from culvert.labs.hosts.ssh.failures import SshError, connection_error, last_line
from culvert.labs.probes import Architecture, probe_for, program_architecture
from culvert.study.conditions.processors import own_cores, split
from culvert.topology.shapes import public, star
from culvert.topology.spec import LabSpec

_NODES = ["a", "b"]


@given(st.integers(1, 64), st.integers(1, 64), st.booleans())
def test_a_split_uses_every_cpu_once(first: int, second: int, same: bool) -> None:
    usable = {"a": tuple(range(first)), "b": tuple(range(first if same else second))}
    boots = {"a": "x", "b": "x" if same else "y"}
    requested = split(imagined(2), _NODES)
    if same and first < 2:
        with pytest.raises(NotPossible):
            own_cpus(requested, usable, boots)
        return
    found = own_cpus(requested, usable, boots)
    if not same:
        assert found == {"a": None, "b": None}
        return
    a, b = found["a"] or (), found["b"] or ()
    assert sorted(a + b) == list(usable["a"])
    assert a
    assert b


@given(st.integers(1, 8), st.integers(1, 16), st.booleans())
def test_a_number_of_cores_is_given_or_refused(count: int, usable: int, same: bool) -> None:
    there = {node: tuple(range(usable)) for node in _NODES}
    boots = {"a": "x", "b": "x" if same else ""}
    requested = own_cores(imagined(2), _NODES, count)
    if count * (2 if same else 1) > usable:
        with pytest.raises(NotPossible):
            own_cpus(requested, there, boots)
        return
    found = own_cpus(requested, there, boots)
    a, b = found["a"] or (), found["b"] or ()
    assert len(a) == len(b) == count
    assert set(a + b) <= set(range(usable))
    assert not same or not set(a) & set(b)


def test_shared_cpus_are_left_alone() -> None:
    assert own_cpus(None, {"a": (0,), "b": (1,)}, {"a": "x", "b": "x"}) == {"a": None, "b": None}
    assert PER_NODE > 512


@pytest.mark.parametrize(
    ("machine", "target"),
    [
        ("x86_64", "x86_64-unknown-linux-musl"),
        ("arm64", "aarch64-unknown-linux-musl"),
        ("armv7l", "armv7-unknown-linux-musleabihf"),
        ("riscv64", "riscv64-unknown-linux-musl"),
    ],
)
def test_architectures_have_targets(machine: str, target: str) -> None:
    assert Architecture.of(machine).target == target


def test_another_architecture_is_refused_with_the_command_that_builds_it() -> None:
    here = tools.require("culvert-probe", "build it")
    assert program_architecture(here)
    with pytest.raises(NotPossible, match="it is armv7") as error:
        probe_for("router", Architecture.of("armv8l"))
    assert error.value.remedy == "make probe-static TARGET=armv7-unknown-linux-musleabihf"


def test_what_is_no_program_has_no_architecture(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\x7fELF")
    assert program_architecture(path) == ""


@pytest.mark.parametrize("ssh_error", list(SshError))
def test_every_error_of_ssh_has_a_remedy(ssh_error: SshError) -> None:
    messages, why, _ = ssh_error.value
    for message in messages.split("|"):
        error = connection_error("a", "host.example", f"debug\nssh: x {message} y\n")
        assert error.what == "host a"
        assert error.why == why
        assert "{" not in error.remedy


def test_ssh_finds_the_control_socket_in_any_directory(tmp_path: Path) -> None:
    place = tmp_path / "a b%h"
    connection = SshConnection(HostEntry("a", "a"), place / "0")
    ssh, *words = connection._session("true")
    done = subprocess.run([ssh, "-G", *words], capture_output=True, text=True, check=True)
    assert f"controlpath {place}/0" in done.stdout.splitlines()


def test_the_last_line_with_words_is_shown() -> None:
    assert last_line(b"one\ntwo \xff\n \n") == "two \N{REPLACEMENT CHARACTER}"
    assert last_line("\n \n") == ""


def test_an_unknown_error_of_ssh_is_shown() -> None:
    assert connection_error("a", "x", "\nweird\n").why == "weird"
    assert connection_error("a", "x", "").why


def test_a_host_behind_the_gateway_is_refused() -> None:
    with pytest.raises(NotPossible, match="does not create networks between hosts"):
        refuse_emulated(LabSpec(topology=star(2, behind=True)))


def test_a_tunnel_as_default_route_is_refused_with_its_reason_before_hosts_are_counted() -> None:
    with pytest.raises(NotPossible, match="SSH connection") as refused:
        possible([public()])
    assert "lab netns" in refused.value.remedy
    assert possible([public(), star(2)]) == [star(2)]


def test_the_demonstration_s_ssh_finds_programs_in_any_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/home/a b/100%/python")
    monkeypatch.setattr(tools, "require", lambda name, _: Path("/home/a b", name))
    demo = DemoHosts()
    lines = demo._ssh_config(demo.node(CONTROLLER)).splitlines()
    (command,) = (line.split(maxsplit=1)[1] for line in lines if "ProxyCommand" in line)
    words = shlex.split(command)
    assert "/home/a b/100%%/python" in words  # ssh replaces %% by %
    assert words[-2:] == ["%h", "%p"]
