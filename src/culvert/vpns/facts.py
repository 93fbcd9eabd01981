"""Facts about a tunnel: waiting for one while its program lives, and reading one."""

from __future__ import annotations

import math
import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from culvert.errors import DeadlineExceeded, ProbeError, VpnError
from culvert.labs.guest import guest
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.probe.client import Probe
from culvert.topology.ip import Address
from culvert.vpns.variant import DataPath, Missing
from culvert.waiting import wait_until

T = TypeVar("T")
TUN = "/dev/net/tun"
POLL_S = 0.0002
KEEP_LOGS = "`culvert vpns check VPN --keep` keeps the logs of all programs"
SEE_LOG = f"see its log: {KEEP_LOGS}"
"""Remedy of an error with a cause in a log, which is removed with the lab."""
_LOG_LINES = 5
_LISTENING = {"tcp": "0A", "udp": "07"}
"""The states of sockets that receive from anybody (tcp_states.h of the kernel)."""
_ECHO_S = 2.0
"""An answer that takes longer is not awaited."""
_ECHO_EVERY_US = 10_000


class ProgramEnded(VpnError):
    """A VPN's program that ended while a fact was awaited; the reason names it."""


def wait_for_fact(
    fact: Callable[[], T | None],
    *,
    vpn: str,
    process: Process | None,
    what: str,
    deadline_s: float,
    evidence: Callable[[], str] = str,
    poll_s: float = POLL_S,
) -> T:
    """Return the first true value of ``fact()``, polled every 200 us or ``poll_s``; 0 counts as no
    fact.

    ``process`` None: the kernel does the work, so no process can end.

    Raises VpnError with the last lines of the program's log if the program ends first, or if the
    fact is not true in time; ``evidence`` and the last look's OSError then describe the actual
    state.
    """
    failed: OSError | None = None

    def look() -> T | None:
        nonlocal failed
        # Read first, so that the program's last action still counts.
        ended = process is not None and not process.alive()
        try:
            value, failed = fact() or None, None
        except OSError as error:  # the program does not listen (yet, or any more)
            value, failed = None, error
        if value is not None or process is None or not ended:
            return value
        raise ProgramEnded(
            vpn,
            f"{process.name} ended with code {process.returncode()} before {what}"
            + log_tail(process),
            "see the error in its log",
        )

    try:
        return wait_until(look, what=what, deadline_s=deadline_s, poll_s=poll_s)
    except DeadlineExceeded as error:
        seen = "; ".join(filter(None, [evidence(), str(failed or "")]))
        raise VpnError(
            vpn,
            f"not after {deadline_s:g} s: {what}{f' ({seen})' if seen else ''}"
            + (log_tail(process) if process else ""),
            f"check the underlay; {KEEP_LOGS}",
        ) from error


def log_tail(process: Process) -> str:
    """The end of its log, to append to a reason: the log itself is removed with the lab."""
    lines = [line.strip() for line in process.log_text().splitlines() if line.strip()]
    return f"; its log ends: {' | '.join(lines[-_LOG_LINES:])}" if lines else "; its log is empty"


def path_of_device(vpn: str, node: Node, device: str, *, kernel_kind: str = "") -> DataPath:
    """The data path, from the kind of a tunnel's interface: a tun device belongs to a program.

    ``kernel_kind`` is the prefix of the kernel interface's kind, for a VPN that can have one.
    Raises VpnError for any other kind; ``vpn`` is its name there.
    """
    link = node.link(device)
    if link is not None and link.kind == "tun":
        return DataPath.USER
    if link is not None and kernel_kind and link.kind.startswith(kernel_kind):
        return DataPath.KERNEL
    wanted = f"tun or {kernel_kind}" if kernel_kind else "tun"
    raise VpnError(
        f"{vpn} on node {node.name}",
        f"{device} is {link.kind if link else 'missing'}, not {wanted}",
        "bring the tunnel up again",
    )


def listens(host: Host, pid: int, port: int, protocol: str = "tcp") -> bool:
    """Whether a TCP socket in a process's network namespace listens at the port, or one of UDP is
    bound to it, at any address (proc_net(5): a local address in hexadecimal, and the state)."""
    tables = [f"/proc/{pid}/net/{name}" for name in (protocol, f"{protocol}6")]
    texts = [host.text(table) for table in tables if host.exists(table)]
    rows = [line.split() for text in texts for line in text.splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == _LISTENING[protocol] for row in rows)


def accepts(node: Node, path: str) -> bool:
    """Whether a process accepts connections to a unix socket; raises OSError if none does."""
    node.dial(path).close()
    return True


def hang_up(node: Node, process: Process) -> None:
    """Send SIGHUP to a program, on which it reads its configuration again."""
    node.kill(process.pid, signal.SIGHUP)


def missing_from_kernel(host: Host, feature: str, what: str) -> list[Missing]:
    """The feature, by doctor's name for it, if a machine's kernel does not have it; else empty."""
    if host.has(feature):
        return []
    # A guest may have a kernel that has it.
    return [Missing(what, "see culvert doctor" if guest() else "--lab vm, or see culvert doctor")]


def missing_tun(host: Host) -> list[Missing]:
    """/dev/net/tun, if a machine does not have it; else empty."""
    if not host.exists(TUN):
        return [Missing(TUN, "modprobe tun")]
    if not host.has("tun"):
        return [Missing(f"the right to make tun devices by {TUN}", "see culvert doctor")]
    return []


def wait_for_device(
    vpn: str, node: Node, device: str, process: Process, *, deadline_s: float
) -> None:
    """Return when the program's device is up, with an address besides the kernel's own (fe80::).

    Raises VpnError with the end of the program's log.
    """

    def ready() -> bool:
        link = node.link(device)
        return (
            link is not None and link.up and not all(each.is_link_local for each in link.addresses)
        )

    wait_for_fact(
        ready,
        vpn=vpn,
        process=process,
        what=f"{process.name} on node {node.name} brought {device} up",
        deadline_s=deadline_s,
    )


def wait_for_ping(
    vpn: str, node: Node, address: Address, process: Process, *, deadline_s: float
) -> None:
    """Return when a ping from the node to an inner address is answered; sends twenty per second.

    Raises VpnError with the end of the program's log.
    """
    ping = node.require("ping", "install iputils-ping")
    wait = str(math.ceil(deadline_s) + 1)
    argv = [ping, "-n", "-q", "-i", "0.05", "-c", "1", "-w", wait, str(address)]
    pinging = node.spawn(argv, name=f"ping-{address}")

    def answered() -> bool:
        """It ends at an error from the network, such as an address that is not resolved yet."""
        nonlocal pinging
        if pinging.returncode() not in (None, 0):
            pinging = node.spawn(argv, name=f"ping-{address}")
        return pinging.returncode() == 0

    try:
        wait_for_fact(
            answered,
            vpn=vpn,
            process=process,
            what=f"{address} answered a ping of node {node.name} through the tunnel",
            deadline_s=deadline_s,
            evidence=lambda: pinging.log_text().strip(),
        )
    finally:
        pinging.stop(grace_s=0)


def wait_for_echo(
    vpn: str, ends: tuple[Node, Node], address: Address, process: Process, *, deadline_s: float
) -> None:
    """Return when the first of two nodes has an answer over UDP from an inner address of the
    second: for a VPN that carries no pings. The probe reflects there, and sends a hundred per
    second.

    Raises VpnError with the end of the program's log.
    """
    source, target = ends
    token = secrets.token_hex(16)
    with Probe(target) as far, Probe(source) as near:
        echo = far.begin("echo", bind=str(address), token=token, idle_s=deadline_s + _ECHO_S)
        port = echo.port()

        def answered() -> bool:
            with suppress(ProbeError):  # none came
                near.call(
                    "first_answer",
                    2 * _ECHO_S,
                    to=str(address),
                    port=port,
                    token=token,
                    interval_us=_ECHO_EVERY_US,
                    deadline_s=_ECHO_S,
                )
                return True
            return False

        wait_for_fact(
            answered,
            vpn=vpn,
            process=process,
            what=f"{address} answered node {source.name} over UDP through the tunnel",
            deadline_s=deadline_s,
        )
