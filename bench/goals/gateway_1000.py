"""A trial of a thousand clients: what it takes beside its load, with the tunnels up."""

from __future__ import annotations

import time
from collections.abc import Set
from contextlib import ExitStack
from typing import ClassVar

from tests.effort import cpu_s

from bench.bounds import MedianBelow
from bench.goal import Samples
from culvert.errors import VpnError
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.room import Machine
from culvert.measurements.gateway.load import GatewayLoad, GatewayLoadParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.graph import Path
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.trial.session import Session
from culvert.vpns import registry
from culvert.vpns.base import Vpn

VPN = "wireguard/go"
TRIALS = 3
LOAD = GatewayLoadParameters.model_validate({"clients": 1000, "duration": "5s"})


class Gateway1000(MedianBelow):
    """Probes, canaries, ceiling, proofs and accounting of every client; from the first probe of a
    trial to the end of the last one, less the time of the load."""

    name: ClassVar[str] = "gateway-1000"
    what: ClassVar[str] = f"a trial of {LOAD.clients} clients, beside its load"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 10 s"
    limit: ClassVar[float] = 10.0
    vpns: ClassVar[tuple[str, ...]] = (VPN,)

    def measure(self) -> Samples:
        """Three trials, each with tunnels of its own."""
        samples = Samples()
        for _ in range(TRIALS):
            stage = _Timed(lambda spec: NetnsLab(new_run_id(), spec))
            _trial(stage)
            samples.ours.append(stage.took_s - LOAD.duration_s)
            samples.details.append({"cpu_s": stage.cpu_s})
        return samples


class _Timed(Tunnels):
    """Takes the time of a session, and the CPU time of this process and its children."""

    took_s = 0.0
    cpu_s = 0.0

    def session(
        self, stack: ExitStack, lab: Lab, vpn: Vpn, path: Path, *, busy: Set[str]
    ) -> Session:
        begun_s, used_s = time.monotonic(), cpu_s()

        def end() -> None:
            self.took_s, self.cpu_s = time.monotonic() - begun_s, cpu_s() - used_s

        stack.callback(end)  # after the probes
        return super().session(stack, lab, vpn, path, busy=busy)


def _trial(stage: Tunnels) -> None:
    """Raises VpnError unless it counts, NotPossible where this machine has no room for it."""
    spec = LabSpec(topology=star(LOAD.clients))
    vpn = registry.create(registry.parse(VPN))
    Machine.here().require(vpn, spec)
    finding = Execution(vpn, spec, GatewayLoad(), LOAD, stage).execute()
    if finding.status is not Status.OK:
        raise VpnError(VPN, f"no trial of it counts: {finding.reason}", finding.remedy)
