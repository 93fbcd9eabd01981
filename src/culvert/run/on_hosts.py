"""A run's nodes are the hosts of an inventory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from culvert.console import err
from culvert.labs.base import Lab
from culvert.labs.hosts.cpus import imagined
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.inventory import read_inventory
from culvert.labs.hosts.lab import HostsLab
from culvert.run.place import Place
from culvert.runid import new_run_id
from culvert.study.conditions.topology import topology_of
from culvert.study.study import Study
from culvert.topology.spec import LabSpec


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
