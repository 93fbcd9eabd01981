"""Whether the kernel gave sockets the buffers that a study requests (socket(7))."""

from __future__ import annotations

from collections.abc import Sequence

from culvert.trial.check import Check

BOOKKEEPING = 2
"""The kernel doubles what setsockopt requests, and getsockopt returns the double."""


def granted(
    requested_bytes: int | None, send_effective_bytes: int, receive_effective_bytes: int
) -> Sequence[Check]:
    """The check of a send and a receive buffer, as getsockopt returned them; none if nothing was
    requested."""
    if requested_bytes is None:
        return []
    got = send_effective_bytes // BOOKKEEPING, receive_effective_bytes // BOOKKEEPING
    return [
        Check(
            "socket buffers",
            got == (requested_bytes, requested_bytes),
            f"of {requested_bytes} bytes the sender got {got[0]}, the receiver {got[1]}",
            "raise net.core.wmem_max on the sender's machine and rmem_max on the receiver's, or "
            "run as root",
        )
    ]
