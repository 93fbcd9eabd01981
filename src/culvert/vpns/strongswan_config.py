"""strongSwan's configuration: pure text, as strongswan.conf(5) and swanctl.conf(5) want it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Address

CONNECTION = "culvert"
"""The name of the connection and of its one child."""

VICI = "/run/charon.vici"
"""The daemon's control socket, in the node's own view."""

IKE_PROPOSAL = "aes256gcm16-prfsha384-x25519"

_PLUGINS = (
    # In the order in which implementations of the same algorithm are preferred.
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


class Suite(Enum):
    """ESP's ciphers, by the names of proposals (https://docs.strongswan.org, IKEv2 ciphers)."""

    AES128CBC_SHA256 = "aes128-sha256"
    AES128GCM = "aes128gcm16"
    AES256GCM = "aes256gcm16"
    CHACHA20POLY1305 = "chacha20poly1305"


@dataclass(frozen=True)
class End:
    """One end: its identity, its address on the underlay, and the one inside the tunnel."""

    identity: str
    address: IPv4Address
    inner: IPv4Address


def daemon_config(*, in_kernel: bool) -> str:
    """strongswan.conf for charon-systemd and swanctl.

    kernel-libipsec is ESP in user space; kernel-netlink keeps the addresses and routes in any
    case, and does ESP where it is asked to.
    """
    ipsec = ("kernel-netlink",) if in_kernel else ("kernel-libipsec", "kernel-netlink")
    plugins = " ".join((*_PLUGINS, *ipsec, "socket-default", "vici"))
    return f"""\
charon-systemd {{
  load = {plugins}
  # A responder that has seen failed attempts would ask for a cookie: one more round trip.
  dos_protection = no
  # libipsec takes every peer for one behind a NAT: no keepalives for that on the underlay.
  keep_alive = 0
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
      # The tunnel's own address appears while it is brought up: no reason to look for new paths.
      roam_events = no
    }}
  }}
}}
swanctl {{
  load = random openssl pem pkcs1 pkcs8 x509 pubkey curve25519
}}
"""


def connection_config(
    suite: Suite, local: End, remote: End, *, shared_key: str | None, certificate: str = ""
) -> str:
    """swanctl.conf: with ``shared_key``, else with ``certificate`` (a file below x509/).

    Nothing is renewed and nothing checked for life while the tunnel is up, so that only what is
    measured crosses the underlay.
    """
    auth = "psk" if shared_key is not None else "pubkey"
    certificates = f"\n      certs = {certificate}" if shared_key is None else ""
    return f"""\
connections {{
  {CONNECTION} {{
    version = 2
    local_addrs = {local.address}
    remote_addrs = {remote.address}
    proposals = {IKE_PROPOSAL}
    mobike = no
    rekey_time = 0
    reauth_time = 0
    dpd_delay = 0
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
      {CONNECTION} {{
        local_ts = {local.inner}/32
        remote_ts = {remote.inner}/32
        esp_proposals = {suite.value}
        mode = tunnel
        rekey_time = 0
        rekey_bytes = 0
        rekey_packets = 0
      }}
    }}
  }}
}}
{_secrets(local, remote, shared_key)}"""


def _secrets(local: End, remote: End, shared_key: str | None) -> str:
    if shared_key is None:
        return ""  # private keys are files of their own
    return f"""\
secrets {{
  ike-{CONNECTION} {{
    id-local = {local.identity}
    id-remote = {remote.identity}
    secret = 0x{shared_key}
  }}
}}
"""
