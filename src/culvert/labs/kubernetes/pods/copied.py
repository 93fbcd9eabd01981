"""The probe in a running pod of the user's: copied through its shell, and removed at the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from culvert.errors import CulvertError, NotPossible
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.api.refusal import Http
from culvert.labs.kubernetes.pods import state
from culvert.labs.kubernetes.pods.choice import ClusterNodeInfo, Wish
from culvert.labs.kubernetes.pods.node import PodAddress, PodNode
from culvert.labs.kubernetes.pods.workspace import Workspace
from culvert.labs.probes import static_probe
from culvert.topology.spec import Placement

COPY_DEADLINE_S = 60.0
_PLACE = "/tmp/culvert-probe"  # noqa: S108 - the only place that most pods can write to


def node(workspace: Workspace, name: str, wish: Wish, host: ClusterNodeInfo) -> PodNode:
    """Copy the probe into the pod. Raises NotPossible if the pod has no shell or no place."""
    pod = _pod(workspace.api, wish)
    where = PodAddress.of(pod, pod.spec.containers[0].name)
    path = f"{_PLACE}-{workspace.run_id}-{name}"
    made = PodNode(name, workspace.api, where, host, program=path)
    content = static_probe("the probe in a pod")
    script = f"cat > {path} && chmod 755 {path} && wc -c < {path}"
    try:
        done = made.run(["sh", "-c", script], stdin=content, timeout_s=COPY_DEADLINE_S, check=False)
    except BaseException:
        _remove_quietly(made)
        raise
    if done.returncode != 0 or done.stdout.strip() != str(len(content)):
        _remove_quietly(made)
        raise NotPossible(
            f"the probe in pod {wish.value}",
            f"it cannot be copied: {(done.stderr or done.stdout).strip()[-200:] or 'no answer'}",
            "the pod needs sh, cat, chmod, wc and a /tmp that can be written to and executed from",
        )
    return made


def remove(copied: PodNode) -> None:
    """Remove the probe from the pod."""
    program = copied.find("culvert-probe")
    copied.run(["rm", "-f", str(program)], timeout_s=COPY_DEADLINE_S, check=False)


def _remove_quietly(copied: PodNode) -> None:
    """A part of it may be there; why it could not be copied counts for more."""
    with suppress(CulvertError):
        remove(copied)


def node_of(api: Api, wish: Wish, placement: Placement) -> str:
    """The cluster's node on which the pod runs. Raises NotPossible if the pod is not in the network
    of that placement: what is measured would not be what is reported."""
    pod = _pod(api, wish)
    wanted = placement is Placement.HOST_NETWORK
    if bool(pod.spec.host_network) is not wanted:
        network = "a network of its own" if wanted else "the network of its node (hostNetwork)"
        raise NotPossible(
            f"the placement {placement} with pod {wish.value}",
            f"the pod has {network}",
            "name another pod, or a placement that agrees with it (--traffic, or pods = in the "
            f"study): {Placement.TWO_NODES if wanted else Placement.HOST_NETWORK}",
        )
    return str(pod.spec.node_name)


def _pod(api: Api, wish: Wish) -> Any:
    namespace, _, name = wish.value.partition("/")
    pod = api.call_unless(
        Http.NOT_FOUND, f"pod {wish.value}", api.core.read_namespaced_pod, name, namespace
    )
    if pod is None or not state.running(pod):
        raise NotPossible(
            f"pod {wish.value}",
            "it does not exist" if pod is None else f"it is {pod.status.phase}",
            "name a running pod: pod:NAMESPACE/NAME",
        )
    return pod
