"""The overhead of SSH on a figure: the lab hosts beside the lab netns, on links of one kind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar

from bench.bounds import RatioNearOne
from bench.goal import Samples, alternate
from culvert.labs.base import Lab
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.lab import HostsLab
from culvert.labs.hosts.listed.inventory import read_inventory
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.tcp.tcp import Tcp
from culvert.run.trials.paths import open_session
from culvert.runid import new_run_id
from culvert.study.conditions.processors import cores, split
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.lifecycle import bring_up

VPN = "wireguard/go"
ROUNDS = 15
SPARE = 10
DURATION_S = 1.0


class HostsRatio(RatioNearOne):
    """TCP goodput through WireGuard, each in its turn; both nodes have the same CPUs."""

    name: ClassVar[str] = "hosts-ratio"
    what: ClassVar[str] = f"goodput of {VPN} measured over SSH"
    peer: ClassVar[str] = "the lab netns"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "ratio within 3 %"
    tolerance: ClassVar[float] = 0.03
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("sshd", "openssh-server"),)
    vpns: ClassVar[tuple[str, ...]] = (VPN,)

    def measure(self) -> Samples:
        """Connections to the hosts last over all rounds, as in a run."""
        spec = LabSpec(cpus=split(cores(), ["a", "b"]))
        with _hosts() as fleet:
            return alternate(
                lambda: _goodput_bps(HostsLab(fleet, spec)),
                lambda: _goodput_bps(NetnsLab(new_run_id(), spec)),
                ROUNDS,
                spare=SPARE,
            )


@contextmanager
def _hosts() -> Iterator[Fleet]:
    with DemoHosts() as demo, tempfile.TemporaryDirectory() as directory:
        inventory = Path(directory) / "hosts.yml"
        inventory.write_text(demo.inventory.read_text())
        with Fleet(read_inventory(inventory), new_run_id()) as fleet:
            yield fleet


def _goodput_bps(lab: Lab) -> float:
    with ExitStack() as stack:
        stack.enter_context(lab)
        vpn = registry.create(registry.parse(VPN))
        stack.callback(vpn.stop, lab)
        vpn.prepare(lab)
        bring_up(vpn)
        session = open_session(stack, lab, vpn, lab.path)
        parameters = Tcp.Parameters.model_validate({"duration": f"{DURATION_S:g}s"})
        outcome = Tcp().run(session, parameters)
        return next(one.value for one in outcome.metrics if one.name == "goodput_bps")
