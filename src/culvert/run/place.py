"""Where a run's nodes come from: this machine, or the hosts of an inventory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from culvert.console import err
from culvert.labs.base import Lab
from culvert.labs.hosts.cpus import imagined
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.inventory import read_inventory
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.vm import inside
from culvert.run.execution import LabFactory
from culvert.runid import new_run_id
from culvert.study.conditions.cpus import cores
from culvert.study.conditions.topology import topology_of
from culvert.study.study import Study
from culvert.topology.spec import LabSpec


@dataclass(frozen=True)
class Place:
    """``cores`` are the CPUs for which a study's requests are computed; ``real_links``: the links
    are measured before each block, not made."""

    make_lab: LabFactory
    cores: Sequence[tuple[int, ...]]
    real_links: bool = False


@contextmanager
def here() -> Iterator[Place]:
    """Namespaces of this machine, or of the guest that this process runs in."""
    yield Place(lambda spec: NetnsLab(new_run_id(), spec), inside.processors(cores()))


@contextmanager
def on_hosts(
    inventory: Path, study: Study, *, sudo_password: str | None, allow_impairment: bool = False
) -> Iterator[Place]:
    """The hosts of an inventory; connections last as long as the run.

    Raises UsageError for an inventory that cannot be read or has too few hosts.
    """
    hosts = read_inventory(inventory, sudo_password=sudo_password)
    topologies = [topology_of(study.file.lab, one) for one in study.file.condition]
    assigned = [hosts.assign(topology) for topology in topologies]
    nodes = max(len(topology.nodes) for topology in topologies)
    fleet = Fleet(hosts, new_run_id())

    def make_lab(spec: LabSpec) -> Lab:
        return HostsLab(fleet, spec, allow_impairment=allow_impairment)

    fleet.begin(assigned[0].values())  # while the rest of the run is prepared
    try:
        yield Place(make_lab, imagined(nodes), real_links=True)
    finally:
        for problem in fleet.close():
            err.print(f"warning: {problem}", markup=False, style="yellow")
