"""Hosts on which something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from culvert.errors import CulvertError
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.host import SshHost
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.runid import new_run_id


@contextmanager
def another_sshd(demo: DemoHosts, view: str = "", options: str = "") -> Iterator[None]:
    """Host a has another view of its files."""
    demo.servers["a"].stop(grace_s=0)
    demo.start_sshd("a", view=view, options=options)
    try:
        yield
    finally:
        demo.servers["a"].stop(grace_s=0)
        demo.start_sshd("a")


@contextmanager
def up_again(demo: DemoHosts, name: str, view: str = "") -> Iterator[None]:
    """A host that the body stops runs afterwards, however the body ends."""
    try:
        yield
    finally:
        if not demo.servers[name].alive():
            demo.start_sshd(name, view=view)


def refused(inventory: Inventory) -> CulvertError:
    """The error for host a; host b works."""
    with Fleet(inventory, new_run_id()) as fleet:
        hosts = [fleet.host(entry) for entry in inventory.hosts]
        first, second = fleet.each(hosts, SshHost.open)
        assert isinstance(first, CulvertError), "host a works"
        assert not isinstance(second, CulvertError)
        assert first.what.startswith("host a")
        assert first.remedy
        return first


def over(places: str, options: str) -> str:
    return f"for place in {places}; do mount -t tmpfs -o {options} tmpfs $place; done\n"


def fake(program: str, script: str) -> dict[str, str]:
    """Another program of this name for host a, as parameters of ``another_sshd``."""
    path = f"/run/fake/{program}"
    made = f"printf '%s\\n' '#!/bin/sh' '{script}' > {path}; chmod 755 {path}\n"
    view = "rm -rf /run/fake; mkdir /run/fake\n" + made
    return {"view": view, "options": "SetEnv PATH=/run/fake:/usr/sbin:/usr/bin:/sbin:/bin\n"}


def login(script: str) -> dict[str, str]:
    """A login to host a runs this; the command is $SSH_ORIGINAL_COMMAND."""
    made = fake("login", script)
    return {**made, "options": "ForceCommand /run/fake/login\n"}
