"""Hosts of namespaces, each with an sshd, and connections to them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from culvert import tools
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import Inventory, read_inventory
from culvert.runid import new_run_id

OWN_KERNEL = """
cat /proc/sys/kernel/random/uuid > /run/boot_id
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
"""


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoHosts]:
    """Two hosts, a and b."""
    if tools.find("sshd") is None:
        pytest.skip("no sshd: apt-get install openssh-server")
    with DemoHosts() as hosts:
        yield hosts


@pytest.fixture(scope="module")
def four() -> Iterator[DemoHosts]:
    """Four hosts that seem to have kernels of their own."""
    yield from _with_kernels(4)


@pytest.fixture(scope="module")
def five() -> Iterator[DemoHosts]:
    """Four such hosts, and one for a control server."""
    yield from _with_kernels(5)


def _with_kernels(count: int) -> Iterator[DemoHosts]:
    if tools.find("sshd") is None:
        pytest.skip("no sshd: apt-get install openssh-server")
    with DemoHosts(count) as hosts:
        for name in hosts.names:
            hosts.servers[name].stop(grace_s=0)
            hosts.start_sshd(name, view=OWN_KERNEL)
        yield hosts


@pytest.fixture(scope="module")
def inventory(demo: DemoHosts) -> Inventory:
    """Of these hosts."""
    return read_inventory(demo.inventory)


@pytest.fixture
def fleet(inventory: Inventory) -> Iterator[Fleet]:
    """A run's connections."""
    with Fleet(inventory, new_run_id()) as connections:
        yield connections
