"""``culvert up``: one tunnel, proved and kept until Ctrl-C, to try things by hand."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack

from rich.console import Console

from culvert.errors import NotPossible, UsageError, VpnError
from culvert.labs.base import Lab, LabSpec
from culvert.labs.netns import NetnsLab
from culvert.measurements.session import Session
from culvert.probe.client import Probe
from culvert.proof.check import Check
from culvert.run.execution import before, survivors
from culvert.runid import new_run_id
from culvert.vpns import registry
from culvert.vpns.base import Vpn

WATCH_S = 1.0
"""How often the VPN's processes are looked at while the tunnel is kept."""


def keep_up(name: str, topology: str, out: Console) -> None:
    """Bring ``name`` up, prove it, say how to use it, and wait for Ctrl-C.

    Raises NotPossible if something is missing and VpnError if the VPN dies.
    """
    if topology not in ("pair", "routed"):
        raise UsageError(f"topology '{topology}'", "is unknown", "use pair or routed")
    vpn = registry.create(registry.parse(name))
    missing = vpn.missing()
    if missing:
        raise NotPossible(vpn.id, f"{missing[0].what} is missing", missing[0].remedy)
    spec = LabSpec(topology="pair" if topology == "pair" else "routed")
    with ExitStack() as stack:
        lab = stack.enter_context(NetnsLab(new_run_id(), spec))
        stack.callback(vpn.stop, lab)
        begun = time.monotonic()
        vpn.prepare(lab)
        vpn.listen(lab.b)
        vpn.connect(lab.a)
        up_s = time.monotonic() - begun
        checks = _prove(lab, vpn)
        proved_s = time.monotonic() - begun
        _say(out, lab, vpn, checks, up_s=up_s, proved_s=proved_s)
        _wait(vpn)


def _prove(lab: Lab, vpn: Vpn) -> list[Check]:
    with Probe(lab.a) as a, Probe(lab.b) as b:
        return before(Session(lab, vpn, a, b, lab.spec.link))


def _say(
    out: Console, lab: Lab, vpn: Vpn, checks: list[Check], *, up_s: float, proved_s: float
) -> None:
    proved = all(check.passed for check in checks)
    verdict = "[green]proved[/]" if proved else "[yellow]NOT PROVED[/]"
    out.print(
        f"[bold]{vpn.id}[/] {vpn.version()} is up after {up_s:.3f} s, {verdict} after "
        f"{proved_s:.3f} s"
    )
    for check in checks:
        mark = "[green]yes[/]" if check.passed else "[yellow]no [/]"
        out.print(f"  {mark}  {check.name}: ", end="")
        out.print(check.detail, markup=False)
    a, b = lab.a, lab.b
    out.print(
        f"\n  a  {vpn.inner(a).ip} on {vpn.interface(a)}, underlay {a.underlay.address.ip}"
        f"\n  b  {vpn.inner(b).ip} on {vpn.interface(b)}, underlay {b.underlay.address.ip}"
        f"\n\nTry, in another terminal:"
        f"\n  sudo ip netns exec culvert-{lab.run_id}-a ping {vpn.inner(b).ip}"
        f"\n  sudo ip netns exec culvert-{lab.run_id}-b bash"
        f"\n\nCtrl-C removes it.",
        markup=False,
    )


def _wait(vpn: Vpn) -> None:
    """Until SIGINT or SIGTERM; raises VpnError if a process of the VPN ends."""
    wanted = {signal.SIGINT, signal.SIGTERM}
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    try:
        while signal.sigtimedwait(wanted, WATCH_S) is None:
            for check in survivors(vpn):
                raise VpnError(vpn.id, check.detail, check.remedy)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
