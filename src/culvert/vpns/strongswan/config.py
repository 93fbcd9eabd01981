"""strongSwan's configuration: pure text, in the format of strongswan.conf(5) and
swanctl.conf(5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_network

from culvert.topology.ip import Address
from culvert.vpns.ipsec.inner import INTERFACE_ID
from culvert.vpns.ipsec.transforms import Carriage

CONNECTION = "culvert"
"""The name of an initiator's connection and of its only child."""

VICI = "/run/charon.vici"
"""Path of the daemon's control socket on the node."""

IKE_PROPOSAL = "aes256gcm16-prfsha384-x25519"

_PLUGINS = (
    # In order of preference for implementations of the same algorithm.
    "random",
    "nonce",
    "drbg",
    "x509",
    "pubkey",
    "pkcs1",
    "pkcs8",
    "pem",
    "openssl",
    "aes",
    "aesni",
    "sha1",
    "sha2",
    "hmac",
    "gcm",
    "ctr",
    "chapoly",
    "curve25519",
    "kdf",
)


@dataclass(frozen=True)
class IkeEnd:
    """One end: its identity, its address on the underlay, and the addresses and networks that the
    tunnel leads to."""

    identity: str
    address: Address
    inner: Sequence[Address | IPv4Network]


@dataclass(frozen=True)
class Upkeep:
    """What keeps a connection up. ``dead_peer_detection``: after DPD_S seconds of silence charon
    sends a request to the peer, and closes the connection if there is no answer. The initiator then
    starts a new one, also if the peer closes the connection. ``mobike``: the peer is notified of a
    changed address (RFC 4555)."""

    dead_peer_detection: bool = False
    mobike: bool = False


DPD_S = 2
DPD_RETRANSMIT_S = 2
DPD_RETRANSMISSIONS = 3
"""Together detected in 10 s: the same as a WireGuard peer, and shorter than the default, where five
retransmissions at growing intervals take 165 s."""


MARK = 0x42
"""Of charon's own packets, where the tunnel is the default route: they must not enter it."""


def daemon_config(*, in_kernel: bool, upkeep: Upkeep, leads: bool = False) -> str:
    """strongswan.conf for charon-systemd and swanctl.

    kernel-libipsec is ESP in user space; kernel-netlink always manages addresses and routes, and is
    ESP in the kernel if ``in_kernel``.
    """
    ipsec = ("kernel-netlink",) if in_kernel else ("kernel-libipsec", "kernel-netlink")
    plugins = " ".join((*_PLUGINS, *ipsec, "socket-default", "vici"))
    return f"""\
charon-systemd {{
  load = {plugins}
  # After failed attempts a responder would request a cookie, which costs a round trip.
  dos_protection = no
  # libipsec treats every peer as behind a NAT: no NAT keepalives on the underlay.
  keep_alive = 0
{_retransmission(upkeep)}\
  journal {{
    default = -1
  }}
  filelog {{
    stderr {{
      default = 1
      flush_line = yes
      time_format = %b %e %T
      time_add_ms = yes
    }}
  }}
  plugins {{
    vici {{
      socket = unix://{VICI}
    }}
    kernel-netlink {{
      # The tunnel's own address appears during the start: it must not trigger a path search.
      roam_events = {_yes(upkeep.mobike)}
{f"      fwmark = !{MARK:#x}" if leads else ""}
    }}
{f"    socket-default {{ fwmark = {MARK:#x} }}" if leads else ""}
  }}
}}
swanctl {{
  load = random openssl pem pkcs1 pkcs8 x509 pubkey curve25519
}}
"""


@dataclass(frozen=True)
class IkeConnection:
    """One connection of a node, to one peer. It authenticates with ``shared_key``, or
    without one with ``certificate`` (a file below x509/)."""

    name: str
    local: IkeEnd
    remote: IkeEnd
    initiates: bool
    shared_key: str | None = None
    certificate: str = ""
    leads: bool = False
    """It carries all packets of the initiator."""


def connections_config(
    carriage: Carriage,
    connections: Sequence[IkeConnection],
    upkeep: Upkeep,
    ike_proposal: str = IKE_PROPOSAL,
) -> str:
    """swanctl.conf of a node.

    Without ``upkeep`` there is no renewal of keys and no dead peer detection while a tunnel is up,
    so that only measured packets cross the underlay. A responder accepts any address: the initiator
    may be behind a NAT.
    """
    blocks = "".join(_connection(carriage, each, upkeep, ike_proposal) for each in connections)
    keys = "".join(_secret(each) for each in connections)
    return f"connections {{\n{blocks}}}\n" + (f"secrets {{\n{keys}}}\n" if keys else "")


def _connection(carriage: Carriage, one: IkeConnection, upkeep: Upkeep, ike_proposal: str) -> str:
    local, remote = one.local, one.remote
    reconnects = one.initiates and upkeep.dead_peer_detection
    local_net, remote_net = (_selectors(end) for end in (local, remote))
    if one.leads and one.initiates:
        remote_net = "0.0.0.0/0"
    elif one.leads:
        local_net = "0.0.0.0/0"
    auth = "psk" if one.shared_key is not None else "pubkey"
    certificates = f"\n      certs = {one.certificate}" if one.shared_key is None else ""
    return f"""\
  {one.name} {{
    version = 2
    local_addrs = {"%any" if one.initiates and upkeep.mobike else local.address}
    remote_addrs = {remote.address if one.initiates else "%any"}
    proposals = {ike_proposal}
    mobike = {_yes(upkeep.mobike)}
    encap = {_yes(carriage.in_udp)}
    rekey_time = 0
    reauth_time = 0
    dpd_delay = {DPD_S if upkeep.dead_peer_detection else 0}
    keyingtries = {0 if reconnects else 1}
    unique = replace
    local {{
      auth = {auth}
      id = {local.identity}{certificates}
    }}
    remote {{
      auth = {auth}
      id = {remote.identity}
    }}
    children {{
      {one.name} {{
        local_ts = {local_net}
        remote_ts = {remote_net}
        {"esp" if carriage.transform.shape else "ah"}_proposals = {carriage.transform.proposal}
        mode = {"transport" if carriage.transport else "tunnel"}{_interface(carriage)}
        dpd_action = {"restart" if reconnects else "clear"}
        close_action = {"start" if reconnects else "none"}
        rekey_time = 0
        rekey_bytes = 0
        rekey_packets = 0
      }}
    }}
  }}
"""


def _selectors(end: IkeEnd) -> str:
    return ", ".join(str(ip_network(each)) for each in end.inner)


def _interface(carriage: Carriage) -> str:
    if not carriage.route:
        return ""
    return f"\n        if_id_in = {INTERFACE_ID}\n        if_id_out = {INTERFACE_ID}"


def _yes(wanted: bool) -> str:
    return "yes" if wanted else "no"


def _retransmission(upkeep: Upkeep) -> str:
    if not upkeep.dead_peer_detection:
        return ""
    return f"""\
  retransmit_timeout = {DPD_RETRANSMIT_S}
  retransmit_base = 1
  retransmit_tries = {DPD_RETRANSMISSIONS}
"""


def _secret(one: IkeConnection) -> str:
    if one.shared_key is None:
        return ""  # private keys are separate files
    return f"""\
  ike-{one.name} {{
    id-local = {one.local.identity}
    id-remote = {one.remote.identity}
    secret = 0x{one.shared_key}
  }}
"""
