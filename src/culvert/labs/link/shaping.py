"""A rate limit on a link: tc's token bucket filter."""

from __future__ import annotations

import errno
from typing import Any

from pyroute2.netlink.exceptions import NetlinkError

from culvert.errors import LabError, NotPossible
from culvert.labs.link.token_bucket import TokenBucket
from culvert.labs.namespace.interfaces import index_of
from culvert.labs.namespace.thread import NamespaceThread


def limit(namespace: NamespaceThread, device: str, bucket: TokenBucket) -> None:
    """Add the bucket to the device's egress; raises NotPossible without tbf in the kernel."""

    def add(netlink: Any) -> None:
        index = index_of(device)
        netlink.tc(
            "add",
            "tbf",
            index=index,
            handle=0x10000,
            rate=bucket.rate_bytes_per_s,
            burst=bucket.burst_bytes,
            limit=bucket.limit_bytes,
        )

    try:
        namespace.netlink(add, f"rate limit on {device}")
    except LabError as error:
        if isinstance(error.__cause__, NetlinkError) and error.__cause__.code == errno.ENOENT:
            raise NotPossible(
                f"rate limit on {device}",
                "this kernel has no token bucket filter (sch_tbf)",
                "modprobe sch_tbf, or run without a rate",
            ) from error
        raise
