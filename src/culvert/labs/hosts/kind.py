"""The lab ``hosts``: hosts of an inventory, reached over SSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from culvert.errors import UsageError
from culvert.labs.kind import LabKind, LabOption, Place

if TYPE_CHECKING:
    from culvert.labs.room import Occupant
    from culvert.study.study import Study


class Hosts(LabKind):
    """Connections last as long as the run."""

    name = "hosts"
    summary = "hosts that SSH reaches"
    options = (
        LabOption("inventory", "Inventory of the hosts (Ansible's format).", "FILE"),
        LabOption("ask-sudo-password", "Prompt for the sudo password of the hosts."),
        LabOption("allow-impairment", "Permit impairment by the hosts' own netem."),
    )

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        if not given.get("inventory"):
            raise UsageError(
                "lab 'hosts'", "no inventory names the hosts", "add --inventory hosts.yml"
            )
        self.inventory = Path(given["inventory"])

    def begin(self) -> None:
        """Start to read the inventory: Ansible takes a second."""
        from culvert.labs.hosts.listed import listing

        listing.begin(self.inventory)

    @contextmanager
    def open(self, study: Study) -> Iterator[Place]:
        """Raises UsageError for an inventory that cannot be read, NotPossible for one with too few
        hosts for the study's own topology, whose links are measured before each block, and if no
        condition's topology can be of hosts."""
        from culvert.labs.base import Lab
        from culvert.labs.hosts.facts.cpus import imagined
        from culvert.labs.hosts.fleet import Fleet
        from culvert.labs.hosts.lab import HostsLab
        from culvert.labs.hosts.links.real_links import possible, refuse_topology
        from culvert.labs.hosts.listed.inventory import read_inventory
        from culvert.labs.hosts.listed.password import OPTION, typed
        from culvert.runid import new_run_id
        from culvert.study.conditions.topology import topology_of
        from culvert.topology.spec import LabSpec

        password = typed(asked=bool(self.given.get(OPTION)))
        hosts = read_inventory(self.inventory, sudo_password=password)
        topologies = [topology_of(study.file.lab, one) for one in study.file.condition]
        assigned = [hosts.assign(topology) for topology in possible(topologies)]
        nodes = max(len(topology.nodes) for topology in topologies)

        def make_lab(spec: LabSpec) -> Lab:
            return HostsLab(fleet, spec, allow_impairment=bool(self.given.get("allow-impairment")))

        def require(_vpn: Occupant, spec: LabSpec) -> object:
            refuse_topology(spec.topology)
            return hosts.assign(spec.topology)

        with Fleet(hosts, new_run_id()) as fleet:
            yield Place(
                make_lab,
                imagined(nodes),
                real_links=True,
                require=require,
                begin=lambda: fleet.begin(assigned[0].values()),
            )
