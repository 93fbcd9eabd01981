"""Pods of a user's on the embedded cluster: an image with a shell, and a /tmp to write to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from culvert.labs.kubernetes.api.client import NOW
from culvert.labs.kubernetes.embedded import settings
from culvert.labs.kubernetes.image import Image, archive
from culvert.labs.kubernetes.pods import choice, namespaces, state
from culvert.labs.kubernetes.pods.node import PodAddress, PodNode
from culvert.run.pods.embedded import UnderEmbedded, libraries
from culvert.waiting import wait_until

NAME = "culvert.local/shell:1"
PROGRAMS = ("sh", "cat", "chmod", "wc", "rm", "ls", "sleep")
NAMESPACE, CONTAINER = "default", "shell"
ENDS = {"near": "a", "far": "b"}
"""The pods, with their nodes."""


def shell_image() -> Image:
    files: dict[str, bytes] = {}
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None
        files[f"/bin/{name}"] = Path(found).read_bytes()
        files |= libraries(Path(found).resolve())
    return Image(NAME, ("/bin/sh", "-c", "while :; do sleep 1; done"), files)


def manifest(name: str, node: str) -> dict[str, Any]:
    container = {
        "name": CONTAINER,
        "image": NAME,
        "imagePullPolicy": "Never",
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
    }
    spec = {
        "nodeName": node,
        "containers": [container],
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    return {"metadata": {"name": name}, "spec": spec}


@contextmanager
def pods_with_a_shell(under: UnderEmbedded) -> Iterator[list[PodNode]]:
    """One on each worker, running."""
    assert under.over.cluster is not None
    api, image = under.workspace.api, archive(shell_image())
    core, hosts = api.core, {node.name: node for node in choice.nodes_of(api)}

    def running(name: str) -> bool:
        return state.running(core.read_namespaced_pod(name, NAMESPACE))

    def gone(name: str) -> bool:
        found = core.list_namespaced_pod(NAMESPACE).items
        return name not in [each.metadata.name for each in found]

    try:
        for name, host in ENDS.items():
            node = under.over.cluster.nodes[host]
            file = node.write("shell.tar", image)
            ctr = ["/usr/bin/ctr", "-a", settings.CONTAINERD_SOCKET, "-n", "k8s.io", "images"]
            node.run([*ctr, "import", str(file)])
            file.unlink()
            core.create_namespaced_pod(NAMESPACE, manifest(name, host))
        made = []
        for name, host in ENDS.items():
            wait_until(partial(running, name), what=name, deadline_s=60, remedy="none")
            pod = core.read_namespaced_pod(name, NAMESPACE)
            made.append(PodNode(name, api, PodAddress.of(pod, CONTAINER), hosts[host]))
        yield made
    finally:
        for name in ENDS:
            core.delete_namespaced_pod(name, NAMESPACE, body=NOW)
        for name in ENDS:
            wait_until(
                partial(gone, name),
                what=f"the end of {name}",
                deadline_s=namespaces.GONE_DEADLINE_S,
                remedy="none",
            )
