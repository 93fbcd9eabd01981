"""The lab's logic against a real API server without nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from culvert.errors import LabError, NotPossible, UsageError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import ApiError, Http, NotAdmitted
from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster
from culvert.labs.kubernetes.pods import choice, manifests
from culvert.labs.kubernetes.pods.lab import KubernetesLab
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.namespaces import await_account
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec, Placement
from tests.labs.kubernetes.paper import paper_node
from tests.labs.kubernetes.users import api_as

pytestmark = [pytest.mark.lab, pytest.mark.slow]

OPTIONS = Options(image="culvert.local/probe:0")


@pytest.fixture
def place(server: EmbeddedCluster) -> Iterator[Workspace]:
    with Workspace(server.api, new_run_id(), OPTIONS) as made:
        yield made


@pytest.fixture
def one_node(server: EmbeddedCluster) -> Iterator[str]:
    """One on which no pod has room."""
    with paper_node(server.api, {"cpu": "10m", "memory": "1Gi", "pods": "10"}) as name:
        yield name


def namespaces(server: EmbeddedCluster) -> set[str]:
    found = server.api.core.list_namespace(label_selector=f"{manifests.MANAGED}=culvert").items
    return {each.metadata.name for each in found}


def plan(place: Workspace, **fields: Any) -> PodPlan:
    made = PodPlan("p", "paper", "image:1", place.run_id, owner=place.owner)
    return replace(made, **fields)


def test_a_run_has_its_namespaces_and_leaves_none(server: EmbeddedCluster) -> None:
    with Workspace(server.api, "abc123", OPTIONS) as place:
        assert namespaces(server) == {"culvert-abc123"}
        place.start(plan(place, host_network=True, owner=None))
        assert namespaces(server) == {"culvert-abc123", "culvert-abc123-nodes"}
        assert place.owner is not None
        place.make_service("target", {"a": "b"})
        place.start(plan(place))
        pod = place.read(plan(place))
        assert pod.metadata.owner_references[0].uid == place.owner.uid
    assert namespaces(server) == set()


def test_a_namespace_of_the_users_is_kept(server: EmbeddedCluster) -> None:
    core = server.api.core
    core.create_namespace({"metadata": {"name": "theirs"}})
    await_account(server.api, "theirs")  # the cluster makes it a moment later
    try:
        with Workspace(server.api, "abc124", replace(OPTIONS, namespace="theirs")) as place:
            place.start(plan(place))
            assert namespaces(server) == set()
        assert core.read_namespace("theirs").status.phase == "Active"
        assert core.list_namespaced_pod("theirs").items == []
        assert [each.metadata.name for each in core.list_namespaced_config_map("theirs").items] == [
            "kube-root-ca.crt"
        ]
    finally:
        core.delete_namespace("theirs")


def test_pod_security_refuses_and_says_so(place: Workspace) -> None:
    privileged = plan(place, observer=True)
    with pytest.raises(NotAdmitted, match="violates PodSecurity") as error:
        place.start(privileged)
    assert error.value.status == Http.FORBIDDEN
    assert "--namespace" in error.value.remedy
    place.start(replace(privileged, host_network=True, owner=None))  # there it is admitted


def test_without_nodes_there_is_no_place(place: Workspace) -> None:
    with pytest.raises(NotPossible, match="none of its 0 nodes accepts pods"):
        KubernetesLab(place, LabSpec()).open()


def test_one_node_is_enough_for_one_placement_only(place: Workspace, one_node: str) -> None:
    nodes = choice.nodes_of(place.api)
    assert [(node.name, node.usable) for node in nodes] == [(one_node, True)]
    with pytest.raises(NotPossible, match="only paper accepts pods"):
        KubernetesLab(place, replace(LabSpec(), pods=Placement.TWO_NODES)).open()


def test_a_pod_that_is_never_scheduled_has_its_reason(place: Workspace, one_node: str) -> None:
    wanted = plan(place)
    place.start(wanted)
    with pytest.raises(LabError, match="Insufficient cpu") as error:
        place.await_running(wanted, deadline_s=3.0)
    assert "make room" in error.value.remedy
    place.remove(wanted)
    with pytest.raises(LabError, match="is gone"):
        place.read(wanted)


def test_the_rights_that_a_user_lacks_are_named(server: EmbeddedCluster) -> None:
    user = api_as(server, "somebody")
    with pytest.raises(NotPossible, match=r"create pods, get pods.*create pods/exec") as error:
        Workspace(user, new_run_id(), OPTIONS).open()
    assert "manifest" in error.value.remedy
    with pytest.raises(ApiError, match='cannot create resource "pods"') as lacking:
        user.create(
            "pod p", user.core.create_namespaced_pod, "default", {"metadata": {"name": "p"}}
        )
    assert not isinstance(lacking.value, NotAdmitted)
    assert (lacking.value.status, lacking.value.name) == (403, "")
    with pytest.raises(ApiError, match='cannot list resource "nodes"') as refused:
        choice.nodes_of(user)
    assert refused.value.status == Http.FORBIDDEN
    assert namespaces(server) == set()


def test_a_server_that_is_busy_is_asked_again(
    server: EmbeddedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    ApiException = pytest.importorskip("kubernetes").client.ApiException  # noqa: N806
    monkeypatch.setattr("culvert.labs.kubernetes.api.client._PAUSE_S", 0.0)
    answers = [ApiException(status=429, reason="busy"), ApiException(status=500), "fine"]

    def request(**_: object) -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    assert server.api.call("it", request) == "fine"
    monkeypatch.setattr("culvert.labs.kubernetes.api.client.PATIENCE_S", 0.0)
    for status, remedy in ((429, "less busy"), (503, "log of the cluster's API server")):
        body = json.dumps({"message": "why"})
        error = ApiException(status=status)
        error.body = body
        answers[:] = [error]
        with pytest.raises(ApiError, match="it: why") as refused:
            server.api.call("it", request)
        assert remedy in refused.value.remedy


def test_no_cluster_at_all(tmp_path: Any) -> None:
    pytest.importorskip("kubernetes")
    path = tmp_path / "config"
    with pytest.raises(UsageError, match="the file does not exist"):
        Api.of(path)
    path.write_text("not: [a, kubeconfig")
    with pytest.raises(UsageError, match="kubeconfig"):
        Api.of(path)
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}],
    }  # fmt: skip
    path.write_text(json.dumps(config))
    with pytest.raises(LabError, match="cannot be reached"):
        Api.of(path).version()
    with pytest.raises(UsageError, match="other"):
        Api.of(path, "other")
