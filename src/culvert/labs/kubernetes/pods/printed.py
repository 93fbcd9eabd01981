"""All that runs create in a cluster, as ``culvert kubernetes manifest`` prints it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.labs.kubernetes.pods import manifests
from culvert.labs.kubernetes.pods.manifests import Manifest, Owner, PodPlan
from culvert.labs.kubernetes.pods.rights import Right, rights
from culvert.topology.spec import Placement

FOR = "culvert.dev/for"
"""Annotation of a printed object: the option or the conditions that it is made for."""
LEAST = "runs with --namespace: they create pods in that namespace and run the probe in them"
ANYWHERE = (
    "runs without --namespace, conditions with pods in the nodes' networks, and --prove: whoever "
    "may create namespaces and pods in them may become root on every node"
)


def roles(namespace: str) -> list[Manifest]:
    """What an administrator may grant: the least, for runs with ``--namespace`` of this namespace,
    and all that other runs need."""
    inside = rights(own_namespace=False)
    in_one = [right for right in inside if not right.of_cluster]
    of_cluster = [right for right in inside if right.of_cluster]
    return [
        _for(LEAST, _in(namespace, _role("Role", "culvert", in_one))),
        _for(LEAST, _role("ClusterRole", "culvert-nodes", of_cluster)),
        _for(ANYWHERE, _role("ClusterRole", "culvert-anywhere", rights(own_namespace=True))),
    ]


def _role(kind: str, name: str, needed: Sequence[Right]) -> Manifest:
    by_resource: dict[str, list[str]] = {}
    for right in needed:
        by_resource.setdefault(right.whole_resource, []).append(right.verb)
    rules = [
        {"apiGroups": [""], "resources": [resource], "verbs": verbs}
        for resource, verbs in by_resource.items()
    ]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {manifests.MANAGED: manifests.MANAGER}},
        "rules": rules,
    }


def everything(
    run_id: str, image: str, *, prove: bool, namespace: str = "NAMESPACE"
) -> list[Manifest]:
    """All that a run of every placement creates, with placeholders for nodes and the owner; what
    not every run creates has an annotation with what it is for (``FOR``), which is only printed.
    ``namespace`` is the one of ``--namespace``, for the role in it."""
    home = manifests.namespace_of(run_id)
    own = Owner(manifests.owner_name(run_id), "UID-OF-THE-CONFIG-MAP")
    controller = {manifests.CONTROLLER: "PROCESS"}
    marks = {**controller, manifests.HOME: home}
    made: list[Manifest] = [
        *roles(namespace),
        manifests.home_namespace(run_id, marks),
        _in(home, manifests.owner(run_id, {**controller, manifests.EXPIRES: "UNIX-TIME"})),
    ]
    for end in ("a", "b"):
        plan = PodPlan(end, "NODE", image, run_id, owner=own, labels={manifests.ROLE: end})
        made.append(_in(home, plan.manifest()))
    before = manifests.service(manifests.service_name(run_id), run_id, {manifests.ROLE: "b"}, own)
    made.append(_for(_of(Placement.SERVICE), _in(home, before)))
    of_nodes = [_of(Placement.HOST_NETWORK), *(["--prove"] if prove else [])]
    made.append(_for(" and ".join(of_nodes), manifests.nodes_namespace(run_id, marks)))
    nodes = manifests.nodes_namespace_of(run_id)
    for end in ("a", "b"):
        plan = PodPlan(end, "NODE", image, run_id, host_network=True, labels={manifests.ROLE: end})
        made.append(_for(_of(Placement.HOST_NETWORK), _in(nodes, plan.manifest())))
    if prove:
        seen = PodPlan("observer", "NODE", image, run_id, host_network=True, observer=True)
        made.append(_for("--prove", _in(nodes, seen.manifest())))
    return made


def _of(placement: Placement) -> str:
    return f'conditions with pods = "{placement}"'


def _for(purpose: str, manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), FOR: purpose}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _in(namespace: str, manifest: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
