"""The embedded cluster over a VPN: the lab in namespaces, the VPN on it, and Kubernetes on that.

::

    namespaces a, b, c ── links of the condition ── VPN between all three ── cluster: a, b workers,
                                                                             c control plane
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address
from pathlib import Path as File
from typing import Any

from pydantic import BaseModel

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster
from culvert.labs.kubernetes.embedded.node import Underlay
from culvert.labs.kubernetes.embedded.programs.built import (
    PACKAGES,
    ClusterPrograms,
    require_built,
)
from culvert.labs.kubernetes.image import PROBE_IMAGE, Image, probe_image
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.process import Usage
from culvert.machine.trials.sockets import congestion_control
from culvert.measurements.base import Measurement
from culvert.privilege import run_as_root
from culvert.probe.client import Probe, Task
from culvert.probe.results import Accounted, parse
from culvert.proof.alive import survivors
from culvert.proof.interference import Stops, left_alone_on
from culvert.run.pods.cluster import Clusters, Under, quiet
from culvert.run.pods.possible import congestion_of
from culvert.runid import new_run_id
from culvert.topology.graph import SERVERS, Path
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.trial.accounting import begin_accounting
from culvert.trial.check import Check
from culvert.vpns.base import Vpn
from culvert.vpns.lifecycle import bring_up

CONTROL = "c"
PATHS = (Path("a", "b"), Path("a", CONTROL), Path(CONTROL, "b"))
"""A condition's impairments act on the link of each source: once between the pods of a and b."""
INSTRUMENTS = ("hey", "iperf3")
"""Programs in the image of the embedded cluster's pods, beside the probe."""
NOT_K3S = "upstream Kubernetes in namespaces, not K3s"


def image_of(programs: ClusterPrograms) -> Image:
    """The probe's image with the instruments, and with the shared libraries that they need."""
    probe = probe_image()
    files = dict(probe.files)
    for name in INSTRUMENTS:
        program = programs.program(name)
        files[f"/usr/bin/{name}"] = program.read_bytes()
        files |= libraries(program)
    return replace(probe, files=files)


def libraries(program: File) -> dict[str, bytes]:
    """The shared libraries of a program by the paths at which it looks for them."""
    beside = program.parents[1] / "lib"
    places = os.pathsep.join(map(str, sorted(beside.glob("*-linux-gnu"))))
    done = subprocess.run(
        ["ldd", str(program)],
        env={**os.environ, "LD_LIBRARY_PATH": places, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = {}
    for line in done.stdout.splitlines():
        words = line.replace("=>", " ").split()
        paths = [word for word in words if word.startswith("/")]
        if paths:
            name = File(words[0])
            path = str(name) if name.is_absolute() else f"/lib/{name}"
            found[path] = File(paths[-1]).read_bytes()
    return found


class OverVpn:
    """One embedded cluster that is up, over one VPN."""

    def __init__(self, vpn: Vpn, spec: LabSpec, say: Callable[[str], None] = quiet) -> None:
        _require_root()
        self._say = say
        self.vpn = vpn
        self.programs = require_built()
        self._stack = ExitStack()
        topology = serving(mesh(3, paths=PATHS), vpn.needs)
        inside = replace(spec, topology=topology, links={}, cpus=None, firewall=None, pods=None)
        self.lab = NetnsLab(new_run_id(), inside, machines=True)
        self.cluster: EmbeddedCluster | None = None
        self._probes: dict[str, Probe] = {}
        self.up_s = 0.0

    def open(self) -> EmbeddedCluster:
        """Build everything; after an error nothing remains. Raises CulvertError."""
        vpn, lab = self.vpn, self.lab
        missing = [each for host in lab.hosts for each in vpn.missing(host)]
        if missing:
            raise NotPossible(vpn.id, f"{missing[0].what} is missing", missing[0].remedy)
        begun = time.monotonic()
        try:
            self._say(f"cluster over {vpn.id}: starting its nodes and links")
            self._stack.enter_context(lab)
            self._stack.callback(vpn.stop, lab)
            self._say(f"cluster over {vpn.id}: bringing the VPN up")
            vpn.prepare(lab)
            bring_up(vpn)
            self.cluster = EmbeddedCluster(
                lab,
                self.programs,
                control=CONTROL,
                underlays={name: self._underlay(name) for name in ("a", "b", CONTROL)},
                images=(image_of(self.programs),),
                overlay_mtu=vpn.variant.overlay_mtu or lab.spec.overlay_mtu,
            )
            self._stack.callback(self.cluster.close)
            self.cluster.open(lambda step: self._say(f"cluster over {vpn.id}: {step}"))
        except BaseException:
            self.close()
            raise
        self.up_s = time.monotonic() - begun
        self._say(f"cluster over {vpn.id}: ready after {self.up_s:.1f} s")
        return self.cluster

    @contextmanager
    def watching(self) -> Iterator[list[Check]]:
        """Whether the VPN was left alone on its nodes meanwhile, once the body has ended."""
        checks: list[Check] = []
        if self.vpn.id == "none":
            yield checks
            return
        if not self._probes:
            for name, node in self.lab.nodes.items():
                self._probes[name] = self._stack.enter_context(Probe(node))
        stops = Stops(self.vpn)
        tasks = {name: self._watch(name, probe) for name, probe in self._probes.items()}
        for task in tasks.values():
            task.ready()
        try:
            yield checks
        finally:
            accounted = {name: parse(Accounted, task.stop()) for name, task in tasks.items()}
        checks += [left_alone_on(accounted), *stops.checks()]

    def _watch(self, name: str, probe: Probe) -> Task:
        node = self.lab.nodes[name]
        devices = [node.underlay.device, self.vpn.interface(node)]
        present = [each for each in devices if node.link(each) is not None]
        return begin_accounting(probe, self.vpn.processes[name], present)

    def close(self) -> None:
        self.cluster = None
        self._probes.clear()
        self._stack.close()

    def broken(self) -> CulvertError | None:
        dead = next(iter(survivors(self.vpn)), None)
        vpn = LabError(self.vpn.id, dead.detail, dead.remedy) if dead is not None else None
        cluster = None if self.cluster is None else self.cluster.dead()
        return self.lab.broken() or vpn or cluster

    def facts(self) -> Mapping[str, str]:
        programs = self.programs
        return {
            "cluster": NOT_K3S,
            "Kubernetes": programs.kubernetes,
            "etcd": f"{programs.etcd}, without fsync",
            "CNI": f"Calico {programs.calico}, VXLAN",
            "container runtime": f"containerd {programs.packages[PACKAGES[0]]}",
            "cluster up after": f"{self.up_s:.1f} s",
        }

    @property
    def servers(self) -> tuple[IPv4Address, ...]:
        nodes = [node for node in self.lab.spec.topology.nodes if node.role in SERVERS]
        return tuple(
            attachment.address.ip
            for node in nodes
            for attachment in self.lab.attachments(node.name)
        )

    def _underlay(self, name: str) -> Underlay:
        node = self.lab.nodes[name]
        device = self.vpn.interface(node)
        link = node.link(device)
        if link is None:
            raise LabError(f"node {name}", f"it has no device {device}", "see the VPN's log")
        return Underlay(device, self.vpn.inner(node).ip, link.mtu)


@dataclass
class UnderEmbedded(Under):
    """The place of a run in an embedded cluster."""

    over: OverVpn = field(kw_only=True)

    def usage(self) -> Mapping[tuple[str, str], Usage]:
        nodes = () if self.over.cluster is None else self.over.cluster.nodes.values()
        found = {(node.name, name): usage for node in nodes for name, usage in node.usage().items()}
        for node_name, processes in self.over.vpn.processes.items():
            for process in processes:
                if (used := process.usage()) is not None:
                    found[node_name, process.name] = used
        return found

    def watching(self) -> AbstractContextManager[list[Check]]:
        return self.over.watching()

    def broken(self) -> CulvertError | None:
        return self.over.broken()


class EmbeddedClusters(Clusters):
    """One at a time: it is replaced when a trial needs another VPN or other links."""

    def __init__(self) -> None:
        super().__init__()
        self._key: tuple[str, LinkSpec, int | None] | None = None
        self._stack = ExitStack()
        self._under: UnderEmbedded | None = None

    def require(
        self, vpn: Vpn, spec: LabSpec, measurement: Measurement[Any], parameters: BaseModel
    ) -> None:
        """Its pods may use whatever this machine's kernel has."""
        super().require(vpn, spec, measurement, parameters)
        wanted = congestion_of(parameters)
        if wanted is None:
            return
        try:
            congestion_control(wanted)()
        except OSError as error:
            raise NotPossible(
                f"{measurement.kind} with {wanted}",
                f"this kernel: {error.strerror}",
                f"load its module (modprobe tcp_{wanted}), or write another congestion",
            ) from error

    def under(self, vpn: Vpn, spec: LabSpec) -> Under:
        """The cluster that is up, if it is for the same VPN and links and works; else a new one."""
        key = (vpn.id, replace(spec.link, seed=0), spec.overlay_mtu)
        if self._under is None or key != self._key or self._under.broken() is not None:
            if self._under is not None:
                self.say("removing the cluster before")
            self.close()
            self._under = self._open(vpn, spec)
            self._key = key
        return self._under

    def close(self) -> None:
        self._under = self._key = None
        self._stack.close()

    def _open(self, vpn: Vpn, spec: LabSpec) -> UnderEmbedded:
        over = OverVpn(vpn, spec, self.say)
        try:
            cluster = over.open()
            self._stack.callback(over.close)
            options = Options(image=PROBE_IMAGE, network_admin=True)
            workspace = Workspace(cluster.api, new_run_id(), options)
            workspace.open()  # it ends with the cluster
        except BaseException:
            self._stack.close()
            raise
        under = UnderEmbedded(
            workspace,
            vpn.version(over.lab.nodes[CONTROL]),
            vpn.variant.encrypts,
            over.facts(),
            shared_kernel=True,
            # A wire's end looks like a tunnel's: both are devices of a program.
            devices=(over.lab.nodes[CONTROL].underlay.device,),
            relays=over.servers,
            over=over,
        )
        self._stack.callback(under.observers.close)
        return under


def _require_root() -> None:
    if os.geteuid() != 0:
        raise NotPossible(
            "the embedded cluster",
            "its nodes need root: mounts, control groups and privileged containers",
            run_as_root(),
        )
