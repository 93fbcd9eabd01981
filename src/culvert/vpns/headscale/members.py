"""tailscaled on a member: its start, its registration at the control server, its paths to others.

Each member has its own state, socket and log directory; no log leaves the lab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address

from culvert.errors import DeadlineExceeded
from culvert.vpns.authoring import (
    AssigningMeshVpn,
    Node,
    Process,
    Role,
    VpnError,
    wait_for_ping,
)
from culvert.vpns.headscale.local_api import LocalApi
from culvert.vpns.headscale.variants import PLAIN

DAEMON, CLIENT = "tailscaled", "tailscale"
DEVICE = "tailscale0"
RELAYED_GRACE_S = 0.3
"""With TS_DEBUG_ALWAYS_USE_DERP tailscaled closes its connections at SIGTERM and then waits for
ever for its UDP socket, which is none (wgengine/magicsock/blockforever_conn.go)."""
_KEY_FILE = f"{CLIENT}/auth.key"
_SLACK_S = 2.0
_TO_RELAY, _CANCELLED = "connect to region", "context canceled"
"""In its log: errors of DERP, and those that follow from an end of the attempt."""
_POLL_S = 0.005
_DISCOVER_S = 0.05
"""Time between attempts to find a direct path; by itself tailscaled repeats them after 5 s."""
OWN = "meta mark and 0xff0000 == 0x80000"
"""Its packets on the underlay, in nft's language (tsconst.LinuxBypassMark of tailscale.com)."""
_RULES, _TABLE = (5210, 5230, 5250, 5270), 52
"""Priorities of its rules, and its routing table (router_linux.go of wgengine/router/osrouter)."""


def sweep(node: Node) -> None:
    """Remove the rules and routes of IPv4 and IPv6 that a killed tailscaled leaves; no error for
    what is not there. The device ends with the process."""
    lines = [*(f"rule delete priority {rule}" for rule in _RULES), f"route flush table {_TABLE}"]
    for family in ("-4", "-6"):
        node.run(["ip", family, "-force", "-batch", "-"], stdin="\n".join(lines), check=False)


class Member:
    """One node's tailscaled, as one of the VPN's processes."""

    def __init__(self, vpn: AssigningMeshVpn, node: Node) -> None:
        self.vpn = vpn
        self.node = node
        self._directory = node.directory / CLIENT
        self._socket = str(self._directory / "tailscaled.sock")
        self.api = LocalApi(node, self._socket)

    def write_key(self, key: str) -> None:
        """The key with which it registers."""
        self.node.write(_KEY_FILE, key, secret=True)

    @property
    def running(self) -> Sequence[Process]:
        return self.vpn.processes[self.node.name]

    @property
    def address(self) -> IPv4Address:
        """Its inner address; raises VpnError before it has joined."""
        return self.vpn.inner(self.node).ip

    def join(self, url: str) -> IPv4Address:
        """Start it, and register at the control server if it is the first time; returns its address
        when it is connected to both servers."""
        self._start()
        if self.node.name not in self.vpn.addresses:
            self._register(url)
        self._wait(
            lambda: self.api.status().connected, "was connected to the control server and the relay"
        )
        return self.api.status().addresses[0]

    def meet(self, other: Member) -> None:
        """Return when both know each other, have a direct path if the variant claims one, and the
        other answers a ping."""
        self._discover(other)
        other._discover(self)
        vpn = self.vpn
        try:
            wait_for_ping(
                vpn.id, self.node, other.address, self.running[0], deadline_s=vpn.up_deadline_s
            )
        except VpnError as error:
            why = f"{error.why}; {self._evidence()}"
            raise VpnError(error.what, why, error.remedy) from error

    def _start(self) -> None:
        self.vpn.launch(self.node, DAEMON, *self._arguments, env=self._environment)
        self._wait(lambda: bool(self.api.status()), "tailscaled answered")

    @property
    def _arguments(self) -> Sequence[str]:
        return (
            "--no-logs-no-support",
            f"--statedir={self._directory}",
            f"--socket={self._socket}",
            f"--tun={self.vpn.device}",
            f"--port={self.vpn.port}",
        )

    @property
    def _environment(self) -> Mapping[str, str]:
        """The lab's routers map no ports, so none is requested of them.

        It finds no program: at every start it deletes rules with ``iptables``, whatever its
        firewall mode, and where that is ``iptables-nft``, this creates tables, which nobody removes
        (cleanUp of wgengine/router/osrouter). Rules of nftables it writes itself.
        """
        found = {
            "PATH": "",
            "TS_NO_LOGS_NO_SUPPORT": "true",
            "TS_LOGS_DIR": str(self._directory),
            "TS_DISABLE_PORTMAPPER": "true",
        }
        if not self.vpn.claims_direct:
            found["TS_DEBUG_ALWAYS_USE_DERP"] = "true"
        if PLAIN in self.vpn.chosen:
            found["TS_DEBUG_USE_DERP_HTTP"] = "true"
        return found

    def _register(self, url: str) -> None:
        """Register at the control server. Raises VpnError with what the client prints: a key that
        has expired, a server that does not answer."""
        most_s = self.vpn.up_deadline_s
        argv = [
            self.vpn.program(self.node, CLIENT),
            f"--socket={self._socket}",
            "up",
            f"--login-server={url}",
            f"--auth-key=file:{self.node.directory / _KEY_FILE}",
            f"--hostname=node-{self.node.name}",
            "--accept-dns=false",
            "--netfilter-mode=off",
            f"--timeout={most_s:g}s",
            *self._routing(),
        ]
        what = f"{self.vpn.id} on node {self.node.name}"
        remedy = "see the logs of headscale on its node and of tailscaled"
        try:
            done = self.node.run(argv, timeout_s=most_s + _SLACK_S, check=False)
        except DeadlineExceeded as error:
            raise VpnError(what, f"it did not register within {most_s:g} s", remedy) from error
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()[-3:]
            raise VpnError(what, f"it did not register: {' / '.join(lines)}", remedy)

    def _routing(self) -> list[str]:
        """The gateway is a subnet router for the networks behind it, or the exit node."""
        gateway = self.node.role is Role.GATEWAY
        if self.vpn.lab.spec.topology.full_tunnel:
            return ["--advertise-exit-node"] if gateway else []
        behind = ",".join(map(str, self.vpn.lab.behind))
        if not behind:
            return []
        return [f"--advertise-routes={behind}" if gateway else "--accept-routes"]

    def use_exit(self, gateway: Member) -> None:
        """Make the gateway its exit node; returns when its default route is the device."""
        self.api.use_exit(gateway.address)
        self.await_routes(["default"])

    def await_routes(self, destinations: Sequence[object]) -> None:
        """Return when it has the routes that other members offer."""

        def routed() -> bool:
            shown = self.node.run(["ip", "route", "show", "table", str(_TABLE)], check=False).stdout
            return all(f"{destination} " in shown for destination in destinations)

        self._wait(routed, f"had routes to {', '.join(map(str, destinations))}")

    def _discover(self, other: Member) -> None:
        """A WireGuard handshake before that would be lost, and repeated after 5 s only."""
        if self.vpn.claims_direct:
            self._wait(
                lambda: self.api.reaches_directly(other.address),
                f"had a direct path to node {other.node.name}",
                poll_s=_DISCOVER_S,
            )
        else:
            self._wait(lambda: self.api.knows(other.address), f"knew node {other.node.name}")

    def _wait(self, fact: Callable[[], bool], what: str, *, poll_s: float = _POLL_S) -> None:
        self.vpn.await_fact(
            fact,
            self.running[0],
            f"node {self.node.name} {what}",
            evidence=self._evidence,
            poll_s=poll_s,
        )

    def _evidence(self) -> str:
        """Its own status, and the last error of its connection to the relay."""
        try:
            status = self.api.status().described
        except (OSError, VpnError):
            status = "its tailscaled does not answer"
        log = self.running[0].log_text().splitlines()
        errors = [line for line in log if _TO_RELAY in line and _CANCELLED not in line]
        return "; ".join((status, *errors[-1:]))
