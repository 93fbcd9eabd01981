"""All processes and kernel threads of a machine, so that it can be told who switched contexts."""

from __future__ import annotations

import os

OTHERS = "other"
"""The label of those that are not the VPN's."""
_INIT = 1
_KTHREADD = 2


def everybody(node: str) -> list[dict[str, object]]:
    """The ancestors of all, as ``accounting`` takes processes: the first one, that of the kernel's
    threads, and our own where we were put into a container. Asked of node a only, for nodes may
    share a kernel."""
    if node != "a":
        return []
    return [{"pid": pid, "label": OTHERS} for pid in (_INIT, _KTHREADD, os.getpid())]
