"""The true cause of a trial that did not work: what was killed, has crashed or is stopped; or
clocks that differ.

What is noticed first is seldom the cause: a probe that is killed leaves its peer with a connection
that was reset, a wire that is killed leaves a VPN that cannot reach its server."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from culvert.errors import CulvertError, DeadlineExceeded, VpnError
from culvert.labs.base import Lab
from culvert.probe.client import Probe
from culvert.proof.alive import survivors
from culvert.vpns.base import Vpn
from culvert.vpns.facts import ProgramEnded
from culvert.vpns.parts.pki import CLOCK_SLACK
from culvert.waiting import wait_until

HERE = "this machine"
"""It issues the certificates."""
ENDING_S = 0.2


def clocks_apart(vpn: str, lab: Lab) -> VpnError | None:
    """The error for the two clocks that differ most, if that is more than certificates allow for;
    nodes that do not answer are left out."""
    ahead_s: dict[str, int] = {}
    for name, node in lab.nodes.items():
        with suppress(CulvertError):
            ahead_s[f"node {name}"] = round((node.realtime_ns() - time.time_ns()) / 1e9)
    ahead_s[HERE] = 0
    first, last = max(ahead_s, key=ahead_s.__getitem__), min(ahead_s, key=ahead_s.__getitem__)
    apart_s = ahead_s[first] - ahead_s[last]
    if apart_s <= CLOCK_SLACK.total_seconds():
        return None
    return VpnError(
        vpn,
        f"the clock of {first} is {apart_s} s ahead of that of {last}",
        "set the clocks: chronyc makestep, or date -s",
    )


def broken_part(vpn: Vpn, lab: Lab, probes: Iterable[Probe] = ()) -> CulvertError | None:
    """What does not work any more and everything else depends on: links, then the VPN, then the
    measuring programs."""
    broken = lab.broken()
    if broken is not None:
        return broken
    dead = next(iter(survivors(vpn)), None)
    if dead is not None:
        return VpnError(vpn.id, dead.detail, dead.remedy)
    return next(filter(None, (probe.broken() for probe in probes)), None)


def cause_of_trouble(vpn: Vpn, lab: Lab, probes: Iterable[Probe] = ()) -> CulvertError | None:
    """``broken_part``, after trouble was noticed: the kernel closes a process's sockets a moment
    before the process counts as ended."""
    try:
        return wait_until(
            lambda: broken_part(vpn, lab, probes),
            what="the end of a process",
            deadline_s=ENDING_S,
            poll_s=ENDING_S / 10,
        )
    except DeadlineExceeded:
        return None


@contextmanager
def naming_the_cause(vpn: Vpn, lab: Lab, probes: Iterable[Probe] = ()) -> Iterator[None]:
    """Raise the cause instead of what was noticed within, with both in its reason."""
    try:
        yield
    except CulvertError as error:
        cause = cause_of_trouble(vpn, lab, probes)
        if isinstance(error, ProgramEnded) and isinstance(cause, VpnError):
            cause = None  # the program that ended is the one that was noticed
        if cause is None and isinstance(error, VpnError):
            cause = clocks_apart(vpn.id, lab)
        if cause is None:
            raise
        raise cause.because(f"{cause.why}; noticed as: {error}") from error
