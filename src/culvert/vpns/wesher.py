"""wesher: a mesh of WireGuard without a server; members gossip about each other (memberlist)."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Interface
from socket import IPPROTO_TCP, IPPROTO_UDP

from culvert.vpns.authoring import (
    TUNNEL,
    Capability,
    DataCipher,
    Lab,
    Node,
    NotPossible,
    OuterFlow,
    Path,
    Variant,
    listens,
    underlay_address,
)
from culvert.vpns.wireguard.managed import ManagedWireGuard

PROGRAM = "wesher"
GOSSIP_PORT = 7946
STATE = "/var/lib/wesher/state.json"
"""Where it looks for the cluster's key; the path is fixed."""
_NAMED = ("unshare", "--uts", "sh", "-c", 'echo "$0" > /proc/sys/kernel/hostname && exec "$@"')
"""A member's name is its host's. Its address as the name (--ip-as-name) is not used: its messages
about itself then replace each other, and a member that comes back is not admitted for a minute."""
_KEY_BYTES = 32
_MOST_CONTACTS = 3
"""Some are enough, because they know the others."""
_FNV_OFFSET, _FNV_PRIME = 0x6C62272E07BB014262B821756295C58D, 0x1000000000000000000013B


class Wesher(ManagedWireGuard):
    """The first member waits for the others, which contact members that run. A member's address
    inside the mesh is a hash of its name, its WireGuard key is new at each start."""

    name = "wesher"
    summary = "wesher, a WireGuard mesh by gossip, without servers and relays"
    # Each has a host's name of its own, in a UTS namespace.
    capabilities = TUNNEL | {Capability.SYS_ADMIN}
    variants = (
        Variant(
            "wesher",
            "with the current wireguard-go",
            {
                "cipher": "ChaCha20-Poly1305",
                "key exchange": "Noise IKpsk2, Curve25519, BLAKE2s",
                "membership": f"memberlist, AES-256-GCM, TCP and UDP {GOSSIP_PORT}",
                "relay": "none",
            },
            cipher=DataCipher.CHACHA20,
        ),
    )
    role = "wesher"
    programs = (PROGRAM,)
    version_arguments = ()
    device = "wgoverlay"
    mtu = 1420
    up_deadline_s = 20.0
    gossip_port = GOSSIP_PORT

    def choose(self, lab: Lab) -> None:
        """Also the gossip's port. A member has no address inside while it is alone."""
        super().choose(lab)
        if len(lab.members) == 2:
            self.no_initiation = "the target has no address to answer at before the source joins"
        self.gossip_port = lab.free_port(GOSSIP_PORT)

    def configure(self) -> None:
        """One key for the cluster, in the file in which wesher keeps it: an argument or a variable
        would show it."""
        members = self.lab.members
        addresses = {self.inner(member).ip for member in members}
        if len(addresses) < len(members):
            raise NotPossible(
                self.id,
                "two members have the same hash, and so the same address inside the mesh",
                "use fewer members",
            )
        key = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
        state = json.dumps({"ClusterKey": key, "Nodes": []})
        for member in members:
            member.keep_changes("/var/lib", "/etc", "/etc/hosts")
            member.write("wesher/state.json", state, secret=True)

    @property
    def newcomers(self) -> Sequence[Node]:
        """All but the first, which is there before them, so that they have a member to contact."""
        return self.lab.members[1:]

    def join(self, member: Node) -> None:
        """Start it; it has joined when each member that it contacted is a peer of its device."""
        contacts = self._running(member)[:_MOST_CONTACTS]
        prepared = str(member.directory / "wesher/state.json")
        member.run(["install", "-D", "-m", "0600", prepared, STATE])
        self.start_device(member)
        address = str(underlay_address(member))
        argv = [*_NAMED, _name(member), self._require(member, PROGRAM)]
        argv += ["--log-level", "info", "--bind-addr", address]
        argv += ["--cluster-port", str(self.gossip_port), "--wireguard-port", str(self.port)]
        argv += ["--interface", self.device, "--overlay-net", str(self.lab.tunnels)]
        if contacts:
            argv += ["--join", ",".join(str(underlay_address(each)) for each in contacts)]
        process = self.start_process(member, argv, PROGRAM)
        self.await_fact(
            lambda: (
                listens(member, process.pid, self.gossip_port)
                and all(self.carrier(member, self.inner(each).ip) for each in contacts[:1])
            ),
            process,
            f"node {member.name} listened, and had the members that it contacted as peers",
        )

    def reach(self, path: Path) -> None:
        """As for all, but not before both ends know all members that run: each change of the
        members replaces all peers of the device, and so ends every session."""
        source, target = self.lab.ends(path)
        if not self.processes[source.name]:
            self.join(source)
        for end in (source, target):
            self._await_members(end)
        super().reach(path)

    def _await_members(self, node: Node) -> None:
        others = [self.inner(each).ip for each in self._running(node)]
        self.await_fact(
            lambda: all(self.carrier(node, each) for each in others),
            self.processes[node.name][-1],
            f"node {node.name} had all {len(others)} others as peers",
        )

    def _running(self, but: Node) -> list[Node]:
        """The other members that run."""
        members = [each for each in self.lab.members if each.name != but.name]
        return [each for each in members if self.processes[each.name]]

    def inner(self, node: Node) -> IPv4Interface:
        """The network's bytes, with the last ones of the name's hash (FNV-1a of 128 bits)."""
        network = self.lab.tunnels
        size = (network.max_prefixlen - network.prefixlen) // 8
        host = _hash(_name(node).encode()) & ((1 << 8 * size) - 1)
        return IPv4Interface(f"{IPv4Address(int(network.network_address) | host)}/32")

    @property
    def outer_flow(self) -> OuterFlow | None:
        """WireGuard's packets, and the gossip, which is encrypted with the cluster's key."""
        ports, protocols = frozenset({self.gossip_port}), (IPPROTO_UDP, IPPROTO_TCP)
        gossip = tuple(OuterFlow(each, ports) for each in protocols)
        return OuterFlow(IPPROTO_UDP, frozenset({self.port}), also=gossip, messages=self.messages)


def _name(node: Node) -> str:
    return f"node-{node.name}"


def _hash(name: bytes) -> int:
    found = _FNV_OFFSET
    for byte in name:
        found = ((found ^ byte) * _FNV_PRIME) % (1 << 128)
    return found
