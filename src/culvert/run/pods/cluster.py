"""The cluster of a trial: any that a kubeconfig reaches, or the embedded one over a VPN."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import Any

from pydantic import BaseModel

from culvert.console import err
from culvert.errors import CulvertError, NotPossible, Unreachable
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.pods.lab import NO_WISHES, KubernetesLab, Wishes
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.labs.process import Usage
from culvert.measurements.base import Measurement
from culvert.plan.plan import Plan
from culvert.run.pods.observers import Observers
from culvert.run.pods.possible import (
    allowed_in,
    between_pods,
    congestion_of,
    refuse,
    refuse_as_it_is,
)
from culvert.runid import new_run_id
from culvert.study.catalogue import Catalogue
from culvert.study.study import Study
from culvert.topology.spec import LabSpec, Placement
from culvert.trial.check import Check
from culvert.vpns import registry
from culvert.vpns.base import Vpn


@dataclass
class Under:
    """A cluster that is up, with the run's place in it.

    ``encrypted``: whether traffic between its nodes is expected to be; None: not looked at.
    ``shared_kernel``: its nodes are on this machine's kernel.
    """

    workspace: Workspace
    version: str
    encrypted: bool | None
    facts: Mapping[str, str] = field(default_factory=dict)
    shared_kernel: bool = False
    wishes: Wishes = NO_WISHES
    devices: tuple[str, ...] = ()
    """The devices by which packets leave each node, if they are known."""
    relays: tuple[IPv4Address, ...] = ()
    """Addresses of others through which the nodes may reach each other, if they are known."""

    def __post_init__(self) -> None:
        self.observers = Observers(self.workspace, self.devices, self.relays)
        """On the nodes of trials' pods, where the proof is wanted; kept for later trials."""

    def lab(self, spec: LabSpec) -> KubernetesLab:
        """A lab of its pods; what has died below them counts as broken there."""
        return KubernetesLab(
            self.workspace,
            spec,
            self.wishes,
            shared_kernel=self.shared_kernel,
            below=self.broken,
        )

    def usage(self) -> Mapping[tuple[str, str], Usage]:
        """What programs of the cluster on this machine have used, by node and name; none if it is
        elsewhere."""
        return {}

    def watching(self) -> AbstractContextManager[list[Check]]:
        """Whether the VPN below it was left alone meanwhile, once the body has ended; none where
        that is not known."""
        return nullcontext([])

    def broken(self) -> CulvertError | None:
        """A part of the cluster that has died; None if it is not known of any."""
        return None


def quiet(text: str) -> None:
    """Says nothing."""
    del text


class Clusters(ABC):
    """A context manager: the clusters of a run, each made when a trial needs it."""

    def __init__(self) -> None:
        self.say: Callable[[str], None] = quiet
        """Called before each step that takes seconds."""

    @abstractmethod
    def under(self, vpn: Vpn, spec: LabSpec) -> Under:
        """The cluster over this VPN and these links. Raises CulvertError."""

    def require(
        self, vpn: Vpn, spec: LabSpec, measurement: Measurement[Any], parameters: BaseModel
    ) -> None:
        """Raise NotPossible for what its pods cannot do; other errors if that cannot be known."""
        del vpn
        refuse(spec, measurement, parameters)

    def refusals(
        self,
        study: Study,
        plan: Plan,
        catalogue: Catalogue,
        measurements: Mapping[str, type[Measurement[Any]]],
        cores: Sequence[tuple[int, ...]],
    ) -> dict[str, NotPossible]:
        """Why cells are not possible, by their keys: found once, before the first trial. Raises
        NotPossible if none is possible, and other errors of the cluster."""
        found: dict[str, NotPossible] = {}
        for cell in plan.present:
            if measurements[cell.measurement].of_the_link:
                continue
            try:
                self.require(
                    registry.create(registry.parse(cell.vpn)),
                    study.lab_spec(cell.condition, cores),
                    measurements[cell.measurement](),
                    catalogue.parameters(cell.measurement, cell.parameters),
                )
            except NotPossible as error:
                found[cell.key] = error
        if found and len(found) == len(plan.present):
            raise next(iter(found.values()))
        return found

    def require_reachable(self) -> None:
        """After a trial that failed: raise Unreachable if no further one is possible."""
        return

    @abstractmethod
    def close(self) -> None:
        """Remove everything that was made."""

    def __enter__(self) -> Clusters:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ReachedCluster(Clusters):
    """A cluster that a kubeconfig reaches; ``prove`` looks at its nodes' interfaces, on which
    everything must be encrypted."""

    def __init__(self, api: Api, options: Options, wishes: Wishes, *, prove: bool) -> None:
        super().__init__()
        self._api = api
        self._version = api.version()
        self._options = options
        self._wishes = wishes
        self._prove = prove
        self._under: Under | None = None
        self._congestions: list[frozenset[str] | None] = []
        """Those that its pods may use, once they were looked at."""
        self._may_on_nodes = False
        self._stack = ExitStack()

    def require(
        self, vpn: Vpn, spec: LabSpec, measurement: Measurement[Any], parameters: BaseModel
    ) -> None:
        """Two pods are started once, to see what they may use."""
        super().require(vpn, spec, measurement, parameters)
        refuse_as_it_is(spec)
        under = self.under(vpn, spec)
        if not self._may_on_nodes and (self._prove or spec.pods is Placement.HOST_NETWORK):
            under.workspace.require_rights(of_nodes=True)
            self._may_on_nodes = True
        wanted = congestion_of(parameters)
        if wanted is None:
            return
        if not self._congestions:
            self.say("starting two pods to see which congestion controls they may use")
            with under.lab(between_pods(spec)) as lab:
                self._congestions.append(allowed_in((lab.a, lab.b)))
        (allowed,) = self._congestions
        if allowed is not None and wanted not in allowed:
            raise NotPossible(
                f"{measurement.kind} with {wanted}",
                f"pods of this cluster may use {', '.join(sorted(allowed))} only",
                f'write congestion = "{min(allowed)}", or allow it on the nodes by '
                "net.ipv4.tcp_allowed_congestion_control",
            )

    def under(self, vpn: Vpn, spec: LabSpec) -> Under:
        del spec
        if vpn.id != "none":
            raise NotPossible(
                f"{vpn.id} under this cluster",
                "Culvert installs VPNs only below its own cluster",
                'write vpns = ["none"] for the cluster as it is, or use --cluster embedded',
            )
        if self._under is None:
            self._under = self._open()
        return self._under

    def close(self) -> None:
        """Remove the run's namespaces; a warning if that is not possible any more."""
        self._under = None
        try:
            self._stack.close()
        except CulvertError as error:
            text = f"warning: {error}; what the run made in it remains until `culvert clean` has "
            err.print(f"{text}removed it (--kubeconfig)", markup=False, style="yellow")

    def require_reachable(self) -> None:
        """Renew the run's place: no trial works without it, or if its user's login has expired."""
        try:
            if self._under is None:
                self._api.version()
            else:
                self._under.workspace.renew()
        except CulvertError as error:
            raise Unreachable(error.what, error.why, error.remedy) from error

    def _open(self) -> Under:
        self.say(f"creating the run's namespaces in the cluster {self._api.server}")
        workspace = Workspace(self._api, new_run_id(), self._options)
        self._stack.enter_context(workspace)
        facts = {"Kubernetes": self._version, "API server": self._api.server}
        encrypted = True if self._prove else None
        under = Under(
            workspace, f"Kubernetes {self._version}", encrypted, facts, wishes=self._wishes
        )
        self._stack.callback(under.observers.close)
        return under
