"""A run's place in a cluster: its namespaces, made once, and removed with everything in them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from typing import Any

from culvert.errors import LabError, NotPossible
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import ApiError, Http
from culvert.labs.kubernetes.pods import lost, manifests, namespaces, state
from culvert.labs.kubernetes.pods.lost import Controller
from culvert.labs.kubernetes.pods.manifests import Manifest, Owner, PodPlan
from culvert.labs.kubernetes.pods.node import address_of_service
from culvert.labs.kubernetes.pods.rights import Right, rights
from culvert.waiting import wait_until

POD_DEADLINE_S = 60.0
RENEWED = 8
"""Part of the pods' time limit after which the run's own is renewed."""


@dataclass(frozen=True)
class Options:
    """``namespace`` is the user's own, which is kept; without it the run makes its own.
    ``network_admin``: measuring pods may choose any congestion control, which Pod Security
    "restricted" does not admit."""

    image: str
    namespace: str | None = None
    network_admin: bool = False


class Workspace:
    """A context manager; ``run_id`` marks everything that it makes."""

    def __init__(self, api: Api, run_id: str, options: Options) -> None:
        self.api = api
        self.run_id = run_id
        self.options = options
        self.home = options.namespace or manifests.namespace_of(run_id)
        self.nodes_home = manifests.nodes_namespace_of(run_id)
        self.owner: Owner | None = None
        self._made: list[str] = []
        self._renewed = 0.0

    # -- its life ----------------------------------------------------------------------------------

    def open(self) -> None:
        """Check the user's rights, remove what lost runs left, make the namespace. After an error
        nothing remains."""
        self.require_rights()
        with suppress(ApiError):  # what a run of another user left may be out of reach
            lost.remove_lost(self.api, self.options.namespace, wait=False)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove everything, and wait until it is gone. Idempotent."""
        namespaces.delete(self.api, self._made)
        if self.owner is not None and self.options.namespace is not None:
            self._close_in(self.options.namespace)
        self.owner = None
        namespaces.await_gone(self.api, self._made)
        self._made.clear()

    def __enter__(self) -> Workspace:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- rights ------------------------------------------------------------------------------------

    def require_rights(self, *, of_nodes: bool = False) -> None:
        """Raise NotPossible with every right that the user has not: the verb and the resource.
        ``of_nodes``: for pods in the nodes' networks too, which need another namespace."""
        needed = rights(own_namespace=of_nodes or self.options.namespace is None)
        lacking = [right for right in needed if not self._may(right)]
        if lacking:
            raise NotPossible(
                "the lab kubernetes",
                f"this user may not {', '.join(map(str, lacking))}",
                "get these permissions: `culvert kubernetes manifest` prints the roles, the least "
                "for --namespace",
            )

    def _may(self, right: Right) -> bool:
        attributes = {
            "verb": right.verb,
            "resource": right.resource,
            "group": "",
            **({"subresource": right.subresource} if right.subresource else {}),
            **({} if right.of_cluster else {"namespace": self.home}),
        }
        review = {"spec": {"resourceAttributes": attributes}}
        found = self.api.call(
            f"the right to {right}",
            self.api.authorization.create_self_subject_access_review,
            review,
        )
        return bool(found.status.allowed)

    # -- objects -----------------------------------------------------------------------------------

    def plan(
        self,
        name: str,
        node: str,
        *,
        host_network: bool = False,
        observer: bool = False,
        labels: Mapping[str, str] | None = None,
    ) -> PodPlan:
        """A pod of the run on a node of the cluster; see PodPlan."""
        options = self.options
        return PodPlan(
            name,
            node,
            options.image,
            self.run_id,
            host_network=host_network,
            observer=observer,
            network_admin=options.network_admin,
            owner=None if host_network else self.owner,
            labels=labels or {},
        )

    def start(self, plan: PodPlan) -> None:
        """Create a pod; it runs later. Raises NotAdmitted, as where Pod Security refuses it."""
        home = self.home_of(plan)
        if plan.host_network and home not in self._made:
            self._make(manifests.nodes_namespace(self.run_id, self._marks()))
        if time.monotonic() - self._renewed > manifests.LIMIT_S / RENEWED:
            self.renew()
        self.api.create(
            f"pod {plan.name} in namespace {home}",
            self.api.core.create_namespaced_pod,
            home,
            plan.manifest(),
        )

    def renew(self) -> None:
        """State when the last pod will have ended. Raises LabError if the run's place is gone."""
        assert self.owner is not None  # it is open
        self.api.call(
            f"the config map {self.owner.name} of the run in namespace {self.home}",
            self.api.core.patch_namespaced_config_map,
            self.owner.name,
            self.home,
            {"metadata": {"annotations": manifests.expires(time.time())}},
        )
        self._renewed = time.monotonic()

    def await_running(self, plan: PodPlan, deadline_s: float = POD_DEADLINE_S) -> Any:
        """Wait until a pod runs; returns it. Raises LabError with the reason from its status or its
        events."""
        end = time.monotonic() + deadline_s
        while True:
            pod = self.read(plan)
            if state.running(pod):
                return pod
            failed = state.failure(pod)
            if failed is not None:
                raise failed
            if time.monotonic() >= end:
                raise state.why_waiting(self.api, self.home_of(plan), pod)
            time.sleep(namespaces.POLL_S)  # a watch would hold a connection for each pod

    def read(self, plan: PodPlan) -> Any:
        found = self._find(plan)
        if found is None:
            why = f"is gone from namespace {self.home_of(plan)}"
            raise LabError(f"pod {plan.name}", why, "find what deletes pods in the cluster")
        return found

    def remove(self, *plans: PodPlan) -> None:
        for plan in plans:
            self._delete_pod(plan.name, self.home_of(plan))
        for plan in plans:
            wait_until(
                partial(self._is_gone, plan),
                what=f"the removal of pod {plan.name}",
                deadline_s=namespaces.GONE_DEADLINE_S,
                poll_s=namespaces.POLL_S,
                remedy="see the state of its node",
            )

    def make_service(self, name: str, selector: Mapping[str, str]) -> IPv4Address:
        """Create a service; returns its address in the cluster. Raises NotPossible if that is one
        of IPv6 only."""
        assert self.owner is not None  # it is open
        made = self.api.call(
            f"service {name}",
            self.api.core.create_namespaced_service,
            self.home,
            manifests.service(name, self.run_id, selector, self.owner),
        )
        return address_of_service(made)

    def remove_service(self, name: str) -> None:
        self.api.delete(f"service {name}", self.api.core.delete_namespaced_service, name, self.home)

    def home_of(self, plan: PodPlan) -> str:
        return self.nodes_home if plan.host_network else self.home

    # -- shared ------------------------------------------------------------------------------------

    def _open(self) -> None:
        if self.options.namespace is None:
            admin = self.options.network_admin
            home = manifests.home_namespace(self.run_id, self._marks(), network_admin=admin)
            self._make(home, wait=False)
        controller = {manifests.CONTROLLER: str(Controller.this())}
        made = self.api.call(
            "the config map of the run",
            self.api.core.create_namespaced_config_map,
            self.home,
            manifests.owner(self.run_id, {**controller, **manifests.expires(time.time())}),
        )
        self.owner = Owner(made.metadata.name, made.metadata.uid)
        self._renewed = time.monotonic()
        for name in self._made:
            namespaces.await_account(self.api, name)

    def _make(self, manifest: Manifest, *, wait: bool = True) -> None:
        self._made.append(namespaces.make(self.api, manifest))
        if wait:
            namespaces.await_account(self.api, self._made[-1])

    def _marks(self) -> Mapping[str, str]:
        """By which a later run finds what this one has left if it is lost."""
        return {manifests.CONTROLLER: str(Controller.this()), manifests.HOME: self.home}

    def _close_in(self, namespace: str) -> None:
        """In the user's namespace: the objects of the run, by its label."""
        core, label = self.api.core, f"{manifests.RUN}={self.run_id}"
        pods = self.api.call("the pods", core.list_namespaced_pod, namespace, label_selector=label)
        for pod in pods.items:
            self._delete_pod(pod.metadata.name, namespace)
        owner = manifests.owner_name(self.run_id)
        self.api.delete(f"config map {owner}", core.delete_namespaced_config_map, owner, namespace)

    def _delete_pod(self, name: str, namespace: str) -> None:
        self.api.delete(f"pod {name}", self.api.core.delete_namespaced_pod, name, namespace)

    def _is_gone(self, plan: PodPlan) -> bool:
        return self._find(plan) is None

    def _find(self, plan: PodPlan) -> Any:
        """A pod; None if it is gone."""
        read, home = self.api.core.read_namespaced_pod, self.home_of(plan)
        return self.api.call_unless(Http.NOT_FOUND, f"pod {plan.name}", read, plan.name, home)
