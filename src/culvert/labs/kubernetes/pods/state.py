"""The state of a pod in words: why it does not run, from its status and its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culvert.errors import LabError
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import Http
from culvert.labs.kubernetes.image import COPY

_IMAGE = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_CONTAINER = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff"}
)
REMEDIES: Mapping[str, str] = {
    "FailedScheduling": "name other nodes with --from and --to, or make room on them",
    "FailedCreatePodSandBox": "see the CNI's log on that node: the pod gets no network",
    "Evicted": "the node is short of memory or disk space: name others with --from and --to",
    "DeadlineExceeded": "the pod reached its time limit: resume the run",
}
IMAGE_REMEDY = (
    "write it with `culvert kubernetes image FILE`, push it to a registry that the nodes reach and "
    f"name it with --image ({COPY.format('FILE')}), or import it on each node "
    "(ctr -n k8s.io images import FILE)"
)
OTHERWISE = "see `kubectl describe pod`"


def running(pod: Any) -> bool:
    """Whether its container runs and it has an address."""
    statuses = pod.status.container_statuses or ()
    return bool(
        pod.status.phase == "Running"
        and pod.status.pod_ip
        and statuses
        and all(status.state.running for status in statuses)
    )


def failure(pod: Any) -> LabError | None:
    """The error of a pod that will not run; None while it may."""
    name = f"pod {pod.metadata.name}"
    if pod.metadata.deletion_timestamp is not None:
        return LabError(
            name, "it was deleted", "find what deletes pods in the cluster, then repeat"
        )
    for status in pod.status.container_statuses or ():
        waiting = status.state.waiting
        if waiting is not None and waiting.reason in (_IMAGE | _CONTAINER):
            image = waiting.reason in _IMAGE
            why = f"{waiting.reason}: {waiting.message or 'no message'}"
            return LabError(
                f"{name} on node {pod.spec.node_name}",
                why,
                IMAGE_REMEDY if image else OTHERWISE,
            )
    if pod.status.phase in ("Failed", "Succeeded"):
        reason = pod.status.reason or _exit_of(pod) or pod.status.phase
        why = f"{reason}: {pod.status.message}" if pod.status.message else str(reason)
        return LabError(name, f"it has ended: {why}", REMEDIES.get(str(reason), OTHERWISE))
    return None


def why_waiting(api: Api, namespace: str, pod: Any) -> LabError:
    """Why a pod does not run in time, from its last warning or its conditions."""
    name = pod.metadata.name
    events = api.call_unless(
        Http.FORBIDDEN,
        f"the events of pod {name}",
        api.core.list_namespaced_event,
        namespace,
        field_selector=f"involvedObject.name={name}",
    )
    warnings = [event for event in (events.items if events else ()) if event.type == "Warning"]
    if warnings:
        last = warnings[-1]
        remedy = REMEDIES.get(str(last.reason), OTHERWISE)
        return LabError(f"pod {name}", f"{last.reason}: {last.message}", remedy)
    for condition in pod.status.conditions or ():
        if condition.status == "False" and condition.message:
            reason = str(condition.reason)
            remedy = REMEDIES.get(reason, OTHERWISE)
            return LabError(f"pod {name}", f"{reason}: {condition.message}", remedy)
    return LabError(f"pod {name}", f"it is {pod.status.phase} and has no event", OTHERWISE)


def _exit_of(pod: Any) -> str:
    for status in pod.status.container_statuses or ():
        ended = status.state.terminated
        if ended is not None:
            return f"{ended.reason or 'ended'} (exit code {ended.exit_code})"
    return ""
