"""The lab with no rights but those of the role that ``culvert kubernetes manifest`` prints."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from culvert.errors import CulvertError, LabError, NotPossible
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster
from culvert.labs.kubernetes.pods import manifests, printed
from culvert.labs.kubernetes.pods.lab import NO_WISHES, KubernetesLab
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.measurements.rtt.rtt import Rtt, RttParameters
from culvert.run.pods.cluster import ReachedCluster
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec, Placement
from culvert.vpns import registry
from culvert.waiting import wait_until
from tests.labs.kubernetes.paper import paper_node
from tests.labs.kubernetes.users import api_as

pytestmark = [pytest.mark.lab, pytest.mark.slow]

USER = "least"
OPTIONS = Options(image="culvert.local/probe:0")
ROOM = {"cpu": "4", "memory": "1Gi", "pods": "10"}


@pytest.fixture(scope="module")
def user(server: EmbeddedCluster) -> Iterator[Api]:
    """A user who is bound to that role."""
    from kubernetes import client  # noqa: PLC0415 - optional

    rbac = client.RbacAuthorizationV1Api(server.api.client)
    *_, role = printed.roles("unused")
    name = role["metadata"]["name"]
    rbac.create_cluster_role(role)
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    rbac.create_cluster_role_binding(binding)
    made = api_as(server, USER)

    def granted() -> bool:
        with suppress(CulvertError):
            Workspace(made, "abc125", OPTIONS).require_rights()
            return True
        return False

    wait_until(granted, what="the role's effect", deadline_s=20, remedy="none")
    yield made
    made.close()
    rbac.delete_cluster_role_binding(name)
    rbac.delete_cluster_role(name)


def run_all(server: EmbeddedCluster, count: int) -> None:
    """In the place of a kubelet: the pods of a run are reported as running."""
    core = server.api.core

    def scheduled() -> list[object]:
        label = f"{manifests.MANAGED}={manifests.MANAGER}"
        found = core.list_pod_for_all_namespaces(label_selector=label).items
        return [each for each in found if each.spec.node_name and each.status.phase == "Pending"]

    wait_until(lambda: len(scheduled()) == count, what="its pods", deadline_s=30, remedy="none")
    for number, pod in enumerate(scheduled(), start=1):
        state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        container = {
            "name": manifests.CONTAINER, "state": state, "ready": True, "restartCount": 0,
            "image": "x", "imageID": "x",
        }  # fmt: skip
        address = f"10.9.0.{number}"
        status = {
            "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
            "containerStatuses": [container],
        }  # fmt: skip
        name, namespace = pod.metadata.name, pod.metadata.namespace  # type: ignore[attr-defined]
        core.patch_namespaced_pod_status(name, namespace, {"status": status})


@pytest.fixture(scope="module")
def lab(server: EmbeddedCluster, user: Api) -> Iterator[KubernetesLab]:
    """Two pods that run on a node of paper, made by that user."""
    with paper_node(server.api, ROOM), Workspace(user, new_run_id(), OPTIONS) as place:
        kubelet = threading.Thread(target=run_all, args=(server, 2))
        kubelet.start()
        try:
            with KubernetesLab(place, replace(LabSpec(), pods=Placement.ONE_NODE)) as made:
                yield made
        finally:
            kubelet.join()


def test_what_is_broken_needs_no_other_right(server: EmbeddedCluster, lab: KubernetesLab) -> None:
    assert lab.broken() is None
    core = server.api.core
    core.patch_node("paper", {"spec": {"unschedulable": True}})
    noticed = lab.broken()
    assert isinstance(noticed, LabError)
    assert str(noticed) == "node paper of the cluster: it is not ready any more"
    core.patch_node("paper", {"spec": {"unschedulable": False}})
    wait_until(
        lambda: core.read_node("paper").spec.taints is None,
        what="its taint",
        deadline_s=20,
        remedy="none",
    )


def test_a_lost_right_hides_no_other_cause(server: EmbeddedCluster, lab: KubernetesLab) -> None:
    somebody = api_as(server, "somebody")
    lab.workspace.api, own = somebody, lab.workspace.api
    try:
        assert lab.broken() is None
    finally:
        lab.workspace.api = own
        somebody.close()


def test_a_pod_that_is_gone_is_the_cause(server: EmbeddedCluster, lab: KubernetesLab) -> None:
    where = lab.b.where
    server.api.core.delete_namespaced_pod(where.pod, where.namespace, grace_period_seconds=0)
    assert f"pod {where.pod}: is gone" in str(lab.broken())


FEWEST = "fewest"


@pytest.fixture(scope="module")
def fewest(server: EmbeddedCluster) -> Iterator[Api]:
    """A user with the roles for one namespace of his own."""
    from kubernetes import client  # noqa: PLC0415 - optional

    rbac = client.RbacAuthorizationV1Api(server.api.client)
    in_one, nodes, _ = printed.roles(FEWEST)
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": FEWEST}]

    def binding(role: dict[str, Any]) -> dict[str, Any]:
        of = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"]}
        name = role["metadata"]["name"]
        return {"metadata": {"name": name}, "roleRef": {**of, "name": name}, "subjects": subjects}

    server.api.core.create_namespace({"metadata": {"name": FEWEST}})
    rbac.create_namespaced_role(FEWEST, in_one)
    rbac.create_namespaced_role_binding(FEWEST, binding(in_one))
    rbac.create_cluster_role(nodes)
    rbac.create_cluster_role_binding(binding(nodes))
    made = api_as(server, FEWEST)
    options = Options(image=OPTIONS.image, namespace=FEWEST)

    def granted() -> bool:
        with suppress(CulvertError):
            Workspace(made, "abc126", options).require_rights()
            return True
        return False

    wait_until(granted, what="the roles' effect", deadline_s=20, remedy="none")
    yield made
    made.close()
    rbac.delete_cluster_role_binding("culvert-nodes")
    rbac.delete_cluster_role("culvert-nodes")
    server.api.core.delete_namespace(FEWEST)


def test_the_roles_for_one_namespace_are_enough_there_and_nowhere_else(
    server: EmbeddedCluster, lab: KubernetesLab, fewest: Api
) -> None:
    del lab  # its node of paper is used
    options = Options(image=OPTIONS.image, namespace=FEWEST)
    wait_until(
        lambda: bool(server.api.core.list_namespaced_service_account(FEWEST).items),
        what="its service account",
        deadline_s=20,
        remedy="none",
    )
    with Workspace(fewest, new_run_id(), options) as place:
        kubelet = threading.Thread(target=run_all, args=(server, 2))
        kubelet.start()
        with KubernetesLab(place, replace(LabSpec(), pods=Placement.ONE_NODE)) as made:
            kubelet.join()
            assert made.b.where.namespace == FEWEST
    pod = PodPlan("a", "paper", OPTIONS.image, "abc126").manifest()
    with pytest.raises(CulvertError, match=r"forbidden|cannot create"):
        fewest.call("a pod elsewhere", fewest.core.create_namespaced_pod, "default", pod)
    with pytest.raises(CulvertError, match=r"forbidden|cannot create"):
        fewest.call("a namespace", fewest.core.create_namespace, {"metadata": {"name": "x"}})


@pytest.mark.parametrize(("prove", "pods"), [(True, None), (False, Placement.HOST_NETWORK)])
def test_pods_of_the_nodes_without_the_right_are_refused_before_a_trial(
    lab: KubernetesLab, fewest: Api, prove: bool, pods: Placement | None
) -> None:
    del lab  # its node of paper is used
    none, spec = registry.create(registry.parse("none")), replace(LabSpec(), pods=pods)
    options = Options(image=OPTIONS.image, namespace=FEWEST)
    with (
        ReachedCluster(fewest, options, NO_WISHES, prove=prove) as reached,
        pytest.raises(NotPossible, match="may not create namespaces"),
    ):
        reached.require(none, spec, Rtt(), RttParameters.model_validate({}))
    with ReachedCluster(fewest, options, NO_WISHES, prove=False) as ordinary:
        ordinary.require(none, LabSpec(), Rtt(), RttParameters.model_validate({}))
