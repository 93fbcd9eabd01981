"""A node that exists in the API only; it is ready, and accepts pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from culvert.labs.kubernetes.api.client import Api

PAPER = "paper"
INFO = (
    *("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "kubeletVersion"),
    *("containerRuntimeVersion", "kubeProxyVersion", "operatingSystem", "architecture"),
)


@contextmanager
def paper_node(api: Api, room: Mapping[str, str]) -> Iterator[str]:
    """``room`` is what its pods may use together."""
    api.core.create_node({"metadata": {"name": PAPER}})
    try:
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": dict(room),
            "capacity": dict(room),
            "nodeInfo": dict.fromkeys(INFO, "x"),
        }
        api.core.patch_node_status(PAPER, {"status": status})
        api.core.patch_node(PAPER, {"spec": {"taints": None}})
        yield PAPER
    finally:
        api.core.delete_node(PAPER)
