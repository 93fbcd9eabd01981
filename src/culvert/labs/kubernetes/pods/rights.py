"""What a user needs of a cluster for a run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Right:
    """A verb on a resource of the API, in the run's namespaces or for the whole cluster."""

    verb: str
    resource: str
    subresource: str = ""
    of_cluster: bool = False

    @property
    def whole_resource(self) -> str:
        """With its subresource, as rules name it."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def __str__(self) -> str:
        return f"{self.verb} {self.whole_resource}"


def rights(*, own_namespace: bool) -> list[Right]:
    """What a user needs for a run; ``own_namespace``: the run makes its namespaces."""
    made = [
        *(Right(verb, "pods") for verb in ("create", "get", "list", "delete")),
        *(Right(verb, "pods", "exec") for verb in ("create", "get")),
        *(Right(verb, "configmaps") for verb in ("create", "list", "patch", "delete")),
        *(Right(verb, "services") for verb in ("create", "delete")),
        Right("list", "events"),
        Right("list", "nodes", of_cluster=True),
    ]
    if own_namespace:
        verbs = ("create", "get", "list", "delete")
        made += [Right(verb, "namespaces", of_cluster=True) for verb in verbs]
        made.append(Right("list", "serviceaccounts"))  # without one no pod is admitted
    return made


def readers(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A role that lists the pods of the cluster, and its binding to every service account: what the
    token of a measuring pod needs for ``/api/v1/pods``."""
    version, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    metadata = {"name": name}
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    role = {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}
    binding = {
        "apiVersion": version,
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "Group", "name": "system:serviceaccounts", "apiGroup": group}],
    }
    return role, binding
