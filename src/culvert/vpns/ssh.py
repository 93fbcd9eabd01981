"""OpenSSH's tunnel (``ssh -w``): IP packets in one TCP connection.

TCP inside is then carried by TCP: a loss outside delays all that follows, and both retransmit.
"""

from __future__ import annotations

from collections.abc import Sequence
from socket import IPPROTO_TCP

from culvert.vpns.authoring import (
    TUNNEL,
    Capability,
    DataCipher,
    Host,
    Node,
    OuterPacket,
    Process,
    TunProgram,
    Variant,
    package_version,
    underlay_address,
)
from culvert.vpns.parts.pki import openssh_key
from culvert.vpns.parts.server import start_together

_SERVER = "sshd"
_PACKAGE = "openssh-server"
_KNOWN_AS = "culvert-target"
_BANNER = b"SSH-2.0-"
_KEY_EXCHANGE = {20: 22, 21: 6, 30: 6, 31: 6}
"""Messages in clear before the new keys (RFC 4253, sections 7 and 12; RFC 5656), and where each has
two zeros: in the length of the first name or key, in the padding of the message that has none."""
_SERVER_CONFIGURATION = """\
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile {folder}/pid
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PermitTunnel point-to-point
Ciphers {cipher}
"""
_CLIENT_CONFIGURATION = """\
Host {address}
  Port {port}
  User root
  IdentityFile {folder}/key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  HostKeyAlias {name}
  StrictHostKeyChecking yes
  BatchMode yes
  ExitOnForwardFailure yes
  Tunnel point-to-point
  Ciphers {cipher}
"""


def _variant(name: str, cipher: str, data: DataCipher) -> Variant:
    facts = {"cipher": cipher, "key exchange": "SSH 2, Ed25519", "transport": "TCP 22"}
    return Variant(name, f"one TCP connection, {cipher}", facts, cipher=data)


class Ssh(TunProgram):
    """The target runs sshd for this tunnel alone; the source logs in as root by a key."""

    name = "ssh"
    summary = "OpenSSH's tunnel device (ssh -w), over TCP"
    variants = (
        _variant("chacha20-poly1305", "chacha20-poly1305@openssh.com", DataCipher.CHACHA20),
        _variant("aes128-gcm", "aes128-gcm@openssh.com", DataCipher.AES),
    )
    one_source = ipv6_inside = True
    role = "ssh"
    program = "ssh"
    server_program = _SERVER
    version_arguments = ("-V",)
    capabilities = TUNNEL | {
        Capability.SETUID,
        Capability.SETGID,
        Capability.SYS_CHROOT,
        Capability.SYS_ADMIN,
    }
    configures_device = False
    no_initiation = "the target has no device, and so no address to answer at, before the login"
    device, port, transport, overhead = "tun0", 22, IPPROTO_TCP, None
    acknowledgement_bytes = 64
    """SSH_MSG_CHANNEL_WINDOW_ADJUST (RFC 4254, section 5.2), padded, with its tag; the slower the
    reader, the more of them."""

    def version(self, host: Host) -> str:
        return package_version(host, _PACKAGE) or super().version(host)

    def configure(self) -> None:
        """A key for the server and one for the user, each known to the other end."""
        source, target = self.sources[0], self.target
        (server, known), (user, permitted) = openssh_key(), openssh_key()
        address, cipher = underlay_address(target), self.variant.facts["cipher"]
        facts = {"port": self.port, "address": address, "cipher": cipher, "name": _KNOWN_AS}
        target.write("ssh/host_key", server, secret=True)
        target.write("ssh/authorized_keys", f"{permitted}\n")
        text = _SERVER_CONFIGURATION.format(folder=target.directory / "ssh", **facts)
        target.write("ssh/config", text)
        source.write("ssh/key", user, secret=True)
        source.write("ssh/known_hosts", f"{_KNOWN_AS} {known}\n")
        text = _CLIENT_CONFIGURATION.format(folder=source.directory / "ssh", **facts)
        source.write("ssh/config", text)

    def arguments(self, node: Node) -> Sequence[str]:
        number = self.device.removeprefix("tun")
        return [
            "-F",
            str(node.directory / "ssh/config"),
            "-N",
            "-w",
            f"{number}:{number}",
            str(underlay_address(self.target)),
        ]

    def listen(self, target: Node) -> None:
        """Start sshd; its privilege separation needs an empty directory."""
        target.run(["mkdir", "-p", "/run/sshd"])
        argv = [self._require(target, _SERVER), "-D", "-e", "-f"]
        config = str(target.directory / "ssh/config")
        start_together(self, target, [*argv, config], _SERVER, self.port)

    def start(self, node: Node) -> Process:
        """Start ssh; both ends have a device when it has logged in. That of an earlier login goes
        when its sshd has noticed the end."""
        (server,) = self.processes[self.target.name]
        gone = f"{self.device} of the last login is gone from node {self.target.name}"
        self.await_fact(lambda: self.target.link(self.device) is None, server, gone)
        process = super().start(node)
        made = f"{_SERVER} made {self.device} on node {self.target.name}"
        self.await_fact(lambda: self.target.link(self.device), server, made)
        self.set_up_device(self.target)
        return process

    def is_handshake(self, packet: OuterPacket) -> bool:
        """The versions, and the key exchange that follows in clear: length 4, padding 1, type. AES
        leaves the length in clear, so that of data begins with zeros as well."""
        payload = packet.payload
        at = _KEY_EXCHANGE.get(payload[5]) if len(payload) > 5 else None
        in_clear = at is not None and payload[:2] == payload[at : at + 2] == b"\0\0"
        return payload.startswith(_BANNER) or in_clear
