"""A record of the machine that a measurement ran on, kept with its numbers.

Everything is read from /proc and /sys. A value that is not available is None, never an error. The
record contains nothing that identifies a machine or a person: no host name, MAC, IP address, serial
number or user name, and no kernel command line (only the parameters that change performance).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from culvert.json_text import read_json
from culvert.machine.record.cpu import Cpu, read_cpu
from culvert.machine.record.kernel import Kernel, OsRelease, read_distribution, read_kernel
from culvert.machine.record.memory import (
    LoadAverage,
    Memory,
    Virtualisation,
    read_load,
    read_memory,
    read_virtualisation,
)
from culvert.machine.record.network import NetworkSettings, read_network
from culvert.machine.record.software import Software, read_software
from culvert.machine.tree import Tree


@dataclass(frozen=True)
class Environment:
    """The whole record."""

    kernel: Kernel
    distribution: OsRelease
    cpu: Cpu
    memory: Memory
    virtualisation: Virtualisation
    network: NetworkSettings
    software: Software
    load: LoadAverage


def observe(tree: Tree | None = None) -> Environment:
    """Read the record; takes a few milliseconds and needs no privilege."""
    tree = tree or Tree()
    return Environment(
        kernel=read_kernel(tree),
        distribution=read_distribution(),
        cpu=read_cpu(tree),
        memory=read_memory(tree),
        virtualisation=read_virtualisation(tree),
        network=read_network(tree),
        software=read_software(),
        load=read_load(tree),
    )


def capture() -> dict[str, Any]:
    """The record as nested dictionaries of JSON's types; the keys are Environment's fields."""
    record: dict[str, Any] = read_json(json.dumps(asdict(observe())))
    return record
