"""When an OpenVPN is up, holds or has forgotten a client, as its management socket reports it; or
when a ping is answered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.topology.ip import Address
from culvert.vpns.authoring import (
    Node,
    Process,
    Vpn,
    VpnError,
    wait_for_device,
    wait_for_ping,
)
from culvert.vpns.openvpn.management import SOCKET_PATH_MAX, Management, ManagementState
from culvert.waiting import wait_until

_STATE_WAIT_S = 0.02
"""Time to wait for the next state before checking whether the program still runs."""
_DROPPED = "SIGUSR1"
_LISTENS = re.compile(r"UDPv4 link remote:|Listening for incoming TCP connection")
_KEYS = re.compile(r"Control Channel: TLS")
_REPLAY_GUARD_S = 1.2
"""Packet numbers of a static key begin with the second of the start (openvpn's packet_id.h)."""
_DATA_KEYS = re.compile(r"Data Channel: cipher")


@dataclass(frozen=True)
class Arrival:
    """``servers`` are the server's processes, whose logs show why a client is rejected."""

    vpn: Vpn
    servers: Sequence[Process]

    def connected(
        self, node: Node, process: Process, what: str, *, release: bool = False, number: int = 0
    ) -> None:
        """Wait until it, the node's process of that number, reports that it is connected;
        ``release``: end its hold first."""
        with Management(node, socket_of(node, number)) as management:
            if release:
                management.send("hold off")
                management.send("hold release")

            def connected() -> bool:
                state = management.watch(_STATE_WAIT_S)
                if state is None or state.name != "CONNECTED":
                    self._refuse_setback(node, process, state)
                    return False
                return True

            self.vpn.await_fact(
                connected,
                process,
                what,
                evidence=lambda: f"its state is {management.latest}; {self._server_log()}",
            )

    def listens(self, node: Node, process: Process) -> None:
        """Wait until it listens. With a static key it reports that it is connected only after the
        client's first packet."""
        what = f"openvpn on node {node.name} listened"
        self.vpn.await_fact(lambda: _LISTENS.search(process.log_text()), process, what)

    def held(self, node: Node, process: Process) -> None:
        """Have a client close its connection, and wait until it holds before it opens another."""

        def holds() -> bool:
            management.watch(_STATE_WAIT_S)
            return management.holds

        with Management(node, socket_of(node)) as management:
            management.send("hold on")  # otherwise it waits a second before it reconnects
            management.send("signal SIGUSR1")
            what = f"openvpn on node {node.name} closed its connection"
            self.vpn.await_fact(holds, process, what)

    def forgotten(self, client: Node, server: Node, process: Process, number: int) -> None:
        """Have the server's process of that number forget a client, by name; it may not have that
        one (any more)."""

        def answer() -> str | None:
            management.watch(_STATE_WAIT_S)
            return next((line for line in management.answers if "common name" in line), None)

        with Management(server, socket_of(server, number)) as management:
            management.send(f"kill {client.name}")
            what = f"the server on node {server.name} forgot its client"
            self.vpn.await_fact(answer, process, what)

    def data_channels(self, client: Process | None = None) -> tuple[int, int]:
        """How often the client, and the server, have received keys for the data channel."""
        return _keyed([client] if client else []), _keyed(self.servers)

    def keyed(self, client: Process, before: tuple[int, int]) -> None:
        """Wait until both ends have the keys. In the kernel this is after CONNECTED, at the server
        up to two seconds later, because only the control channel's timer wakes it."""

        def both() -> bool:
            now = self.data_channels(client)
            return all(after > earlier for after, earlier in zip(now, before, strict=True))

        what = "both ends had the keys of the data channel"
        self.vpn.await_fact(both, client, what, evidence=self._server_log)

    def rekeyed(self, node: Node, client: Process) -> None:
        """Wait until a client has renewed its keys."""

        def agreed() -> int:
            return len(_KEYS.findall(client.log_text()))

        before, what = agreed(), f"node {node.name} renewed its keys"
        most_s = self.vpn.rekey_deadline_s
        self.vpn.await_fact(lambda: agreed() > before, client, what, deadline_s=most_s)

    def answered(self, source: Node, process: Process, peer: Address) -> None:
        """Wait until a ping through the tunnel is answered."""

        vpn, deadline_s = self.vpn.id, self.vpn.up_deadline_s
        wait_for_device(vpn, source, self.vpn.interface(source), process, deadline_s=deadline_s)
        try:
            wait_for_ping(vpn, source, peer, process, deadline_s=deadline_s)
        except VpnError as error:
            raise VpnError(
                error.what, f"{error.why}; {self._server_log()}", error.remedy
            ) from error

    def _refuse_setback(self, node: Node, process: Process, state: ManagementState | None) -> None:
        """A second attempt of the client would be another, later start; the requested restart is
        none."""
        if state is not None and state.name == "RECONNECTING" and state.detail != _DROPPED:
            raise VpnError(
                self.vpn.id,
                f"openvpn on node {node.name} failed and reconnects: {state.detail}; "
                f"its log ends: {_end(process)}; {self._server_log()}",
                "see both logs for a TLS or authentication error",
            )

    def _server_log(self) -> str:
        ended = "".join(_end(process) for process in self.servers)
        return f"the server's log ends: {ended}" if ended else "the server's log is empty"


def await_next_second(clients: Sequence[Process]) -> None:
    """Wait until the second of the clients' start has passed."""
    wait_until(
        lambda: all(client.age_s() > _REPLAY_GUARD_S for client in clients),
        what="the second of the client's start had passed",
        deadline_s=2 * _REPLAY_GUARD_S,
    )


def socket_of(node: Node, number: int = 0) -> Path:
    """Path of the management socket of the node's process of that number. Raises VpnError if the
    path is too long."""
    path = node.directory / f"openvpn{number or ''}.sock"
    if len(str(path).encode()) > SOCKET_PATH_MAX:
        raise VpnError(
            f"openvpn on node {node.name}",
            f"{path} is too long for a unix socket (at most {SOCKET_PATH_MAX} bytes)",
            "use a lab whose directory has a shorter path",
        )
    return path


def _keyed(processes: Sequence[Process]) -> int:
    return sum(len(_DATA_KEYS.findall(process.log_text())) for process in processes)


def _end(process: Process) -> str:
    """The last lines of the log, without those about the management interface."""
    lines = [line for line in process.log_text().splitlines() if "MANAGEMENT:" not in line]
    return " | ".join(lines[-3:])
