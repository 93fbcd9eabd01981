"""A mesh of three members with Headscale and its relay, all of its paths up and proved."""

from __future__ import annotations

import time
from contextlib import ExitStack
from itertools import combinations
from typing import Any, ClassVar

from bench.bounds import MedianBelow
from bench.goal import Samples
from culvert.errors import VpnError
from culvert.labs.netns.lab import NetnsLab
from culvert.run.trials.paths import open_session
from culvert.run.trials.stage import before
from culvert.runid import new_run_id
from culvert.topology.graph import Path
from culvert.topology.shapes import member_names, mesh, serving
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.lifecycle import join_all, serve_all

MEMBERS = 3
TIMES = 5


class MeshDirect(MedianBelow):
    """From nothing: namespaces, links, keys, certificate, headscale, derper, three registrations,
    three direct paths, and the proof of each."""

    name: ClassVar[str] = "mesh-direct"
    what: ClassVar[str] = "a mesh of 3 members up, direct and proved, the lab included"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 10 s"
    limit: ClassVar[float] = 10.0
    vpns: ClassVar[tuple[str, ...]] = ("headscale/direct",)

    def measure(self) -> Samples:
        """Five times; details have the time until the paths were up."""
        taken = [once(self.vpns[0], MEMBERS) for _ in range(TIMES)]
        return Samples(ours=[each["proved_s"] for each in taken], details=taken)


class MeshRelayed(MeshDirect):
    """The same, relayed."""

    name: ClassVar[str] = "mesh-relayed"
    what: ClassVar[str] = "a mesh of 3 members up, relayed and proved, the lab included"
    goal: ClassVar[str] = "under 5 s"
    limit: ClassVar[float] = 5.0
    vpns: ClassVar[tuple[str, ...]] = ("headscale/relay",)


def once(name: str, members: int) -> dict[str, Any]:
    """Seconds from the command until the phases' ends, on one mesh in which all paths are up."""
    vpn = registry.create(registry.parse(name))
    paths = [Path(*both) for both in combinations(member_names(members), 2)]
    topology = serving(mesh(members, paths=paths), vpn.needs)
    begun = time.monotonic()
    with NetnsLab(new_run_id(), LabSpec(topology=topology)) as lab:
        phases = {"lab_s": time.monotonic() - begun}
        try:
            vpn.prepare(lab)
            serve_all(vpn)
            phases["served_s"] = time.monotonic() - begun
            join_all(vpn, vpn.joining)
            phases["joined_s"] = time.monotonic() - begun
            for path in vpn.paths:
                vpn.reach(path)
            phases["up_s"] = time.monotonic() - begun
            checks = []
            for path in paths:
                with ExitStack() as stack:
                    checks += before(open_session(stack, lab, vpn, path))
            phases["proved_s"] = time.monotonic() - begun
        finally:
            vpn.stop(lab)
    failed = [check for check in checks if not check.passed]
    if failed:
        raise VpnError(name, f"not proved: {failed[0].name}: {failed[0].detail}", failed[0].remedy)
    return phases
