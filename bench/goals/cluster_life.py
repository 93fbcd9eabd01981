"""The embedded cluster's start and end, and the first figure from a cluster that is up."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

from bench import memory
from bench.bounds import MedianBelow
from bench.goal import Goal, Samples
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.run.pods.embedded import EmbeddedClusters, OverVpn, UnderEmbedded
from culvert.topology.spec import LabSpec
from culvert.vpns import registry

VPN = "wireguard/go"
TIMES = 3
FIGURE = "  ok  "
"""In the line of a trial that counts."""


class ClusterUp(Goal):
    """From nothing: lab, VPN, control plane, two workers with Calico that are ready."""

    name: ClassVar[str] = "cluster-up"
    what: ClassVar[str] = f"embedded cluster of 1 + 2 nodes over {VPN} ready, the lab included"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 30 s, under 1 GB, and gone in under 10 s"
    limit_s: ClassVar[float] = 30.0
    gone_s: ClassVar[float] = 10.0
    memory_bytes: ClassVar[int] = 10**9

    def measure(self) -> Samples:
        """Three times; details have the time until it was gone, and the memory of all processes of
        the cluster and the VPN when it was ready."""
        samples = Samples()
        for _ in range(TIMES):
            over = OverVpn(registry.create(registry.parse(VPN)), LabSpec())
            begun = time.monotonic()
            over.open()
            samples.ours.append(time.monotonic() - begun)
            held = memory.bytes_of(_processes(over))
            begun = time.monotonic()
            over.close()
            gone_s = time.monotonic() - begun
            samples.details.append({"gone_s": gone_s, "memory_bytes": held})
        return samples

    def met(self, samples: Samples) -> bool:
        """The slowest of each."""
        gone_s = max(each["gone_s"] for each in samples.details)
        held = max(each["memory_bytes"] for each in samples.details)
        in_time = max(samples.ours) < self.limit_s and gone_s < self.gone_s
        return in_time and held < self.memory_bytes


class PodsFirstFigure(MedianBelow):
    """The command as a user gives it, with a kubeconfig and the proof: program start, rights,
    namespaces, pods, observers, proof, measurement, proof."""

    name: ClassVar[str] = "pods-first-figure"
    what: ClassVar[str] = "culvert run pods on a cluster that is up, until its first figure"
    unit: ClassVar[str] = "s"
    goal: ClassVar[str] = "under 20 s"
    limit: ClassVar[float] = 20.0

    def measure(self) -> Samples:
        """Three runs, in the network of the control plane."""
        with EmbeddedClusters() as clusters:
            under = clusters.under(registry.create(registry.parse(VPN)), LabSpec())
            assert isinstance(under, UnderEmbedded)
            return Samples(ours=[_first_figure(under, number) for number in range(TIMES)])


def _processes(over: OverVpn) -> set[int]:
    """Of the nodes' namespaces, pods among them, and of the VPN."""
    assert over.cluster is not None
    nodes = over.cluster.nodes.values()
    programs = [one.pid for node in nodes for one in node.programs.values()]
    vpn = [one.pid for processes in over.vpn.processes.values() for one in processes]
    roots = [*(node.pid for node in nodes), *programs, *vpn]
    return {pid for root in roots for pid in memory.family(root)}


def _first_figure(under: UnderEmbedded, number: int) -> float:
    """The command in the network of the control plane, with the machine's files."""
    assert under.over.cluster is not None
    control = under.over.cluster.plane.node
    config = control.at.write("bench/kubeconfig", under.over.cluster.plane.kubeconfig, secret=True)
    argv = [
        *("nsenter", "--target", str(control.pid), "--net"),
        *(str(Path(sys.executable).parent / "culvert"), "run", "pods", "--lab", "kubernetes"),
        *("--kubeconfig", str(config), "--image", PROBE_IMAGE, "--prove"),
        *("--out", str(control.at.directory / f"bench/run-{number}")),
    ]
    begun = time.monotonic()
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        lines = []
        for line in run.stdout:
            lines.append(line)
            if FIGURE in line:
                taken_s = time.monotonic() - begun
                run.terminate()
                run.stdout.read()
                return taken_s
    raise ValueError(f"the run has ended without a figure: {''.join(lines)[-500:]}")
