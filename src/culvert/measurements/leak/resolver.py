"""How the client's applications look up names: by the C library alone, or by systemd-resolved.

::

    getaddrinfo ── /etc/resolv.conf ── resolver                           libc
    getaddrinfo ── 127.0.0.53 ── systemd-resolved ── resolver             systemd-resolved
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import StrEnum

from culvert.errors import LabError, NotPossible
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.trial.check import Check
from culvert.waiting import wait_until

RESOLV_CONF = "/etc/resolv.conf"
PROGRAM = "/lib/systemd/systemd-resolved"
USER = "systemd-resolve"
STUB = "127.0.0.53"
_STATE = "/run/systemd/resolve"
_IN_USE = f"{_STATE}/resolv.conf"
"""The resolvers that it uses, of all links."""
_SETTINGS = "/run/systemd/resolved.conf.d/zz-culvert.conf"
_LINKS = "/run/systemd/netif/links"
"""systemd-networkd's state, from which systemd-resolved learns the resolvers of a link."""
_LISTENING = "3500007F:0035"
"""127.0.0.53, port 53, in /proc/net/udp."""
_READY_S = 5.0
_WRITE = 'cat > "$0.new" && chmod 644 "$0.new" && mv "$0.new" "$0"'


class ResolverKind(StrEnum):
    """Resolvers by their names in a study."""

    LIBC = "libc"
    RESOLVED = "systemd-resolved"


class Resolver(ABC):
    """Of one client."""

    def __init__(self, client: Node) -> None:
        self.client = client

    @property
    def processes(self) -> tuple[Process, ...]:
        return ()

    def require(self) -> None:  # noqa: B027 - the C library is everywhere
        """Raise NotPossible if the client has none, or it cannot run there."""

    @abstractmethod
    def use(self, address: str) -> None:
        """Begin to look up names there, as the client's configuration has it."""

    @abstractmethod
    def learn(self, address: str) -> None:
        """The network of the client's link has a resolver of its own."""

    def checks(self) -> Iterator[Check]:
        """Whether look-ups go its way."""
        yield from ()

    def stop(self) -> None:  # noqa: B027 - the C library has no program
        """End its programs."""

    def _name_only(self, address: str) -> None:
        """A look-up without an answer ends after a second, so that look-ups go on."""
        text = f"nameserver {address}\noptions timeout:1 attempts:1\n"
        self.client.run(["tee", RESOLV_CONF], stdin=text)


class Libc(Resolver):
    """/etc/resolv.conf has one resolver: the configured one, then that of the link."""

    def use(self, address: str) -> None:
        self._name_only(address)

    def learn(self, address: str) -> None:
        self._name_only(address)


class Resolved(Resolver):
    """systemd-resolved in the client's namespace, without D-Bus: it reads the configured resolver
    from a file, and that of the link from the state of systemd-networkd."""

    def __init__(self, client: Node) -> None:
        super().__init__(client)
        self._process: Process | None = None

    @property
    def processes(self) -> tuple[Process, ...]:
        return () if self._process is None else (self._process,)

    def require(self) -> None:
        client = self.client
        remedy = 'write resolver = "libc", or install systemd-resolved, which becomes the resolver '
        client.require(PROGRAM, f"{remedy}of the machine")
        # A directory of the state that exists, such as that of a link to it, must be the user's.
        made = client.run(
            ["install", "-d", "-m", "755", "-o", USER, "-g", USER, _STATE], check=False
        )
        if made.returncode != 0:
            raise NotPossible(
                f"systemd-resolved on node {client.name}",
                f"it cannot run as user {USER}: {made.stderr.strip()}",
                'run Culvert as root, or write resolver = "libc"',
            )

    def use(self, address: str) -> None:
        client = self.client
        client.run(["mkdir", "-p", _LINKS])
        self._write(_SETTINGS, _settings(address))
        environment = {"SYSTEMD_LOG_TARGET": "console"}
        process = client.spawn([PROGRAM], name="systemd-resolved", env=environment)
        self._process = process

        def listens() -> bool:
            if not process.alive():
                raise LabError(
                    f"systemd-resolved on node {client.name}",
                    f"it ended: {process.log_text().strip()[-300:]}",
                    'write resolver = "libc"',
                )
            return _LISTENING in client.text("/proc/net/udp")

        wait_until(listens, what=f"systemd-resolved listened at {STUB}", deadline_s=_READY_S)
        self._name_only(STUB)

    def learn(self, address: str) -> None:
        client, device = self.client, self.client.underlay.device
        index = client.run(["cat", f"/sys/class/net/{device}/ifindex"]).stdout.strip()
        state = f"ADMIN_STATE=configured\nOPER_STATE=routable\nDNS={address}\n"
        self._write(f"{_LINKS}/{index}", state)
        line = f"nameserver {address}"
        wait_until(
            lambda: line in client.text(_IN_USE).splitlines(),
            what=f"systemd-resolved used the resolver {address} of {device}",
            deadline_s=_READY_S,
        )

    def checks(self) -> Iterator[Check]:
        version = self.client.run([PROGRAM, "--version"]).stdout.partition("\n")[0]
        yield Check(
            "names were looked up by systemd-resolved",
            all(each.alive() for each in self.processes),
            f"{version}, at {STUB}",
            "it ended while it was measured: see its log",
        )

    def stop(self) -> None:
        for each in self.processes:
            each.stop()
        self._process = None

    def _write(self, path: str, text: str) -> None:
        """At once: a program that watches the directory reads the whole file."""
        self.client.run(["mkdir", "-p", path.rpartition("/")[0]])
        self.client.run(["sh", "-c", _WRITE, path], stdin=text)


def resolver_of(kind: ResolverKind, client: Node) -> Resolver:
    """The resolver of that kind."""
    return Resolved(client) if kind is ResolverKind.RESOLVED else Libc(client)


def _settings(address: str) -> str:
    """Instead of the machine's: one resolver, no other protocols."""
    return f"""\
[Resolve]
DNS=
DNS={address}
FallbackDNS=
Domains=
LLMNR=no
MulticastDNS=no
DNSSEC=no
DNSOverTLS=no
DNSStubListener=yes
"""
