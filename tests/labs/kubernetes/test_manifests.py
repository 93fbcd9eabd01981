"""What a run creates in a cluster."""

from __future__ import annotations

from typing import Any

from culvert.labs.kubernetes.pods import manifests
from culvert.labs.kubernetes.pods import printed as printing
from culvert.labs.kubernetes.pods.manifests import Owner, PodPlan
from culvert.labs.kubernetes.pods.rights import rights

PLAN = PodPlan("p", "node-1", "image:1", "abc123", owner=Owner("run", "uid-1"))


def container(plan: PodPlan) -> dict[str, Any]:
    (found,) = plan.manifest()["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def test_a_measuring_pod_is_restricted_and_ends_by_itself() -> None:
    spec = PLAN.manifest()["spec"]
    context = container(PLAN)["securityContext"]
    assert context["runAsNonRoot"]
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["activeDeadlineSeconds"] == manifests.LIMIT_S
    assert spec["automountServiceAccountToken"] is False
    assert "hostNetwork" not in spec
    assert "hostPID" not in spec
    assert "finalizers" not in PLAN.manifest()["metadata"]
    assert PLAN.manifest()["metadata"]["ownerReferences"][0]["uid"] == "uid-1"


def test_an_observer_has_the_capabilities_to_capture_and_no_others() -> None:
    observer = PodPlan("o", "n", "i", "r", host_network=True, observer=True)
    context = container(observer)["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"], "add": ["NET_RAW", "NET_ADMIN"]}
    assert context["allowPrivilegeEscalation"] is False
    assert "privileged" not in context
    spec = observer.manifest()["spec"]
    assert spec["hostPID"]
    assert spec["hostNetwork"]
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert "ownerReferences" not in observer.manifest()["metadata"]


def test_the_scheduler_decides_about_the_node() -> None:
    spec = PLAN.manifest()["spec"]
    assert "nodeName" not in spec
    wanted = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert wanted["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["node-1"]


def test_the_namespaces_have_their_levels() -> None:
    marks = {manifests.HOME: "culvert-abc123"}
    home = manifests.home_namespace("abc123", marks)
    nodes = manifests.nodes_namespace("abc123", marks)
    levels = [each["metadata"]["labels"] for each in (home, nodes)]
    key = "pod-security.kubernetes.io/enforce"
    assert [each[key] for each in levels] == ["restricted", "privileged"]
    assert home["metadata"]["annotations"] == nodes["metadata"]["annotations"] == marks


def granted(role: dict[str, Any]) -> set[str]:
    return {
        f"{verb} {resource}"
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_the_roles_have_exactly_the_rights_of_a_run() -> None:
    in_one, nodes, anywhere = printing.roles("mine")
    least = {str(right) for right in rights(own_namespace=False)}
    assert granted(in_one) | granted(nodes) == least
    assert granted(anywhere) == {str(right) for right in rights(own_namespace=True)}
    assert (in_one["kind"], in_one["metadata"]["namespace"]) == ("Role", "mine")
    assert granted(nodes) == {"list nodes"}
    assert "root on every node" in anywhere["metadata"]["annotations"][printing.FOR]


def test_memory_of_pods_is_limited_and_their_cpu_time_is_not() -> None:
    (container,) = PLAN.manifest()["spec"]["containers"]
    assert container["resources"]["limits"] == {"memory": "1Gi"}


def printed(*, prove: bool) -> dict[str, dict[str, Any]]:
    """The objects by kind, namespace and name."""
    made = printing.everything("RUN", "image:1", prove=prove)
    names = [
        "/".join((each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]))
        for each in made
    ]
    assert len(set(names)) == len(names)
    return dict(zip(names, made, strict=True))


def test_pods_in_the_nodes_networks_are_printed_without_the_proof_too() -> None:
    made = printed(prove=False)
    host = 'conditions with pods = "host-network"'
    assert {
        name: each["metadata"].get("annotations", {}).get(printing.FOR)
        for name, each in made.items()
    } == {
        "Role/NAMESPACE/culvert": printing.LEAST,
        "ClusterRole//culvert-nodes": printing.LEAST,
        "ClusterRole//culvert-anywhere": printing.ANYWHERE,
        "Namespace//culvert-RUN": None,
        "ConfigMap/culvert-RUN/culvert-RUN": None,
        "Pod/culvert-RUN/a": None,
        "Pod/culvert-RUN/b": None,
        "Service/culvert-RUN/culvert-RUN": 'conditions with pods = "service"',
        "Namespace//culvert-RUN-nodes": host,
        "Pod/culvert-RUN-nodes/a": host,
        "Pod/culvert-RUN-nodes/b": host,
    }
    assert made["Pod/culvert-RUN-nodes/a"]["spec"]["hostNetwork"]


def test_the_proof_adds_an_observer() -> None:
    with_proof = printed(prove=True)
    (added,) = set(with_proof) - set(printed(prove=False))
    observer = with_proof[added]
    assert observer["spec"]["hostPID"]
    assert "'privileged': True" not in str(with_proof)
    assert observer["metadata"]["annotations"] == {printing.FOR: "--prove"}
    nodes = with_proof["Namespace//culvert-RUN-nodes"]["metadata"]["annotations"]
    assert nodes[printing.FOR] == 'conditions with pods = "host-network" and --prove'
    assert nodes[manifests.HOME] == "culvert-RUN"


def test_a_service_passes_its_ports_on_unchanged() -> None:
    made = manifests.service("t", "r", {"a": "b"}, Owner("run", "u"))
    ports = made["spec"]["ports"]
    assert {each["protocol"] for each in ports} == {"TCP", "UDP"}
    assert all("targetPort" not in each for each in ports)
    assert len({each["name"] for each in ports}) == len(ports)
