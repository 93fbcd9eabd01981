"""What a run creates in a cluster, as manifests. Pure.

::

    Namespace culvert-RUN          Pod Security "restricted": measuring pods, services
    Namespace culvert-RUN-nodes    Pod Security "privileged": pods in the nodes' networks, and the
                                   observers that --prove needs

Each pod has a time limit, so that it ends without the controller that made it; nothing has a
finalizer, so that deleting a namespace removes all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from culvert.labs.kubernetes.image import NOBODY, PROBE_PATH

PREFIX = "culvert-"
MANAGED = "app.kubernetes.io/managed-by"
MANAGER = "culvert"
RUN = "culvert.dev/run"
ROLE = "culvert.dev/role"
CONTROLLER = "culvert.dev/controller"
"""Annotation of namespaces and the config map: the process that drives the run."""
HOME = "culvert.dev/home"
"""Annotation of namespaces: the one in which the run's config map is."""
EXPIRES = "culvert.dev/expires"
"""Annotation of the config map: the Unix time after which no pod of the run can run any more."""
CONTAINER = "probe"
SERVICE_PORTS = range(20001, 20033)
"""Ports that a service passes on to its pod, unchanged, for UDP and TCP."""
LIMIT_S = 3600
"""Time limit of a pod."""
AUTHORITY = "/culvert/ca.crt"
"""The certificate of the cluster's authority, in each pod."""
BEARER = "/culvert/token"
"""The token of the namespace's service account, in each measuring pod: the kubelet writes it with
mode 0600 for the pod's user, and it ends with the pod."""
_AUTHORITY_MAP = "kube-root-ca.crt"
"""The config map with it, which the cluster makes in each namespace."""
_POD_SECURITY = "pod-security.kubernetes.io"

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Owner:
    """The config map of a run, whose deletion deletes everything else in its namespace."""

    name: str
    uid: str

    @property
    def reference(self) -> Manifest:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid}


@dataclass(frozen=True)
class PodPlan:
    """A pod of the probe: on ``node`` (its name), in the network of the node with ``host_network``.

    An ``observer`` captures packets and reads processes there, for which it is root with the
    capabilities NET_RAW and NET_ADMIN, and sees the node's processes.
    """

    name: str
    node: str
    image: str
    run_id: str
    host_network: bool = False
    observer: bool = False
    network_admin: bool = False
    """It may choose any congestion control of the kernel, for which it is root in its network."""
    owner: Owner | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def manifest(self) -> Manifest:
        """The pod, by the rules of Pod Security "restricted" unless it is in a node's network."""
        container: Manifest = {
            "name": CONTAINER,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            # An agent without a request waits for the end of its input.
            "command": [PROBE_PATH, "agent"],
            "stdin": True,
            # No limit of CPU time: a quota would be in every figure.
            "resources": {
                "requests": {"cpu": "50m", "memory": "32Mi"},
                "limits": {"memory": "1Gi"},
            },
            "securityContext": self._security(),
            "volumeMounts": [{"name": "authority", "mountPath": str(Path(AUTHORITY).parent)}],
        }
        spec: Manifest = {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "activeDeadlineSeconds": LIMIT_S,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "affinity": _on(self.node),
            "volumes": [{"name": "authority", "projected": {"sources": self._credentials()}}],
        }
        if self.host_network:
            spec |= {"hostNetwork": True, "dnsPolicy": "Default"}
        if self.observer:
            spec |= {"hostPID": True, "tolerations": [{"operator": "Exists"}]}
        metadata = _metadata(self.name, self.run_id, self.labels)
        if self.owner is not None:
            metadata["ownerReferences"] = [self.owner.reference]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    def _credentials(self) -> list[Manifest]:
        """The files for requests to the API."""
        authority: Manifest = {"configMap": {"name": _AUTHORITY_MAP, "optional": True}}
        token = {"path": Path(BEARER).name, "expirationSeconds": LIMIT_S}
        return [authority] if self.observer else [authority, {"serviceAccountToken": token}]

    def _security(self) -> Manifest:
        if self.observer:
            return _observing()
        return _restricted() | (_network_admin() if self.network_admin else {})


def home_namespace(
    run_id: str, marks: Mapping[str, str], *, network_admin: bool = False
) -> Manifest:
    """The namespace of measuring pods, with annotations."""
    level = "privileged" if network_admin else "restricted"
    return _namespace(namespace_of(run_id), run_id, level, marks)


def nodes_namespace(run_id: str, marks: Mapping[str, str]) -> Manifest:
    """The namespace of pods in the nodes' networks, with annotations."""
    return _namespace(nodes_namespace_of(run_id), run_id, "privileged", marks)


def namespace_of(run_id: str) -> str:
    """The namespace of measuring pods."""
    return f"{PREFIX}{run_id}"


def nodes_namespace_of(run_id: str) -> str:
    """The namespace of pods in the nodes' networks."""
    return f"{PREFIX}{run_id}-nodes"


def owner_name(run_id: str) -> str:
    """The name of the config map that owns a run's other objects in its namespace."""
    return f"{PREFIX}{run_id}"


def service_name(run_id: str) -> str:
    """The name of the service before the target of a trial: it begins with a letter (RFC 1035)."""
    return f"{PREFIX}{run_id}"


def owner(run_id: str, marks: Mapping[str, str]) -> Manifest:
    """That config map, with annotations."""
    metadata = {**_metadata(owner_name(run_id), run_id, {}), "annotations": dict(marks)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def expires(now_s: float) -> Mapping[str, str]:
    """The annotation of a run whose last pod starts now."""
    return {EXPIRES: str(int(now_s) + LIMIT_S)}


def service(name: str, run_id: str, selector: Mapping[str, str], owned_by: Owner) -> Manifest:
    """A service that passes each of its ports on to the same port of its pod."""
    ports = [
        {"name": f"{protocol.lower()}-{port}", "protocol": protocol, "port": port}
        for protocol in ("TCP", "UDP")
        for port in SERVICE_PORTS
    ]
    metadata = _metadata(name, run_id, {})
    metadata["ownerReferences"] = [owned_by.reference]
    spec = {
        "selector": dict(selector),
        "ports": ports,
        "type": "ClusterIP",
        # With an address of IPv4 also where the cluster gives IPv6 addresses first.
        "ipFamilyPolicy": "PreferDualStack",
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _namespace(name: str, run_id: str, level: str, marks: Mapping[str, str]) -> Manifest:
    metadata = _metadata(name, run_id, {f"{_POD_SECURITY}/enforce": level})
    metadata["annotations"] = dict(marks)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def _metadata(name: str, run_id: str, labels: Mapping[str, str]) -> Manifest:
    return {"name": name, "labels": {MANAGED: MANAGER, RUN: run_id, **labels}}


def _restricted() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "runAsUser": NOBODY,
        "runAsGroup": NOBODY,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _network_admin() -> Manifest:
    return {
        "runAsNonRoot": False,
        "runAsUser": 0,
        "runAsGroup": 0,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    }


def _observing() -> Manifest:
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"], "add": ["NET_RAW", "NET_ADMIN"]},
        "readOnlyRootFilesystem": True,
        "runAsUser": 0,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _on(node: str) -> Manifest:
    """On a node of that name: the scheduler still decides whether it has room there."""
    field_ = {"key": "metadata.name", "operator": "In", "values": [node]}
    term = {"nodeSelectorTerms": [{"matchFields": [field_]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
