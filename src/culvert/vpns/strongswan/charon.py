"""charon, strongSwan's daemon: its requirements, its start on a node, and its commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from culvert.errors import DeadlineExceeded
from culvert.vpns.authoring import (
    Capability,
    Completed,
    Host,
    Missing,
    Node,
    Process,
    Vpn,
    VpnError,
    accepts,
    log_tail,
    missing_tun,
    package_version,
)
from culvert.vpns.ipsec import inner as ipsec_inner
from culvert.vpns.strongswan.config import VICI

_NAME = "strongswan"
INSTALL = f"culvert install {_NAME}"
CAPABILITIES = frozenset({Capability.NET_ADMIN, Capability.NET_BIND_SERVICE})
"""IKE's port is 500. It drops what it does not need itself."""
_PLUGIN = "libstrongswan-kernel-libipsec.so"
_PLUGIN_DIRECTORIES = (
    "/usr/lib/ipsec/plugins",
    "/usr/lib/strongswan/plugins",
    "/usr/lib64/strongswan/plugins",
    "/usr/local/lib/ipsec/plugins",
)


@dataclass(frozen=True)
class Programs:
    """The names of the daemon and of the program that controls it."""

    daemon: str
    console: str


DISTRIBUTIONS = Programs("charon-systemd", "swanctl")
NEWER = Programs("charon-systemd-newer", "swanctl-newer")
"""Those with ML-KEM, installed beside the distribution's (see ``fetch``)."""
_ESTABLISHED = "established with SPIs"
_ROUTING_RULE = 220
"""Number of charon's routing table, and priority of its rule."""


def missing_programs(host: Host, programs: Programs) -> Iterator[Missing]:
    """The programs that are not installed."""
    for program in (programs.daemon, programs.console, "ip"):
        if host.find(program) is None:
            yield Missing.to_install(program, _NAME)


def missing_in_user_space(host: Host) -> Iterator[Missing]:
    """What ESP in charon needs in addition."""
    if not any(host.exists(f"{place}/{_PLUGIN}") for place in _PLUGIN_DIRECTORIES):
        yield Missing.to_install("strongSwan's plugin kernel-libipsec", _NAME)
    yield from missing_tun(host)


def version(host: Host, programs: Programs) -> list[str]:
    """Versions of strongSwan, and of its package if there is one."""
    # From swanctl: charon-systemd has no option that prints it, and starts with any argument.
    shown = host.run([program(host, programs.console), "--help"], check=False)
    found = re.search(r"strongSwan (\S+) swanctl", shown.stdout + shown.stderr)
    package = package_version(host, programs.daemon)
    return [found[1] if found else "unknown", *([f"package {package}"] if package else [])]


def program(host: Host, name: str) -> str:
    """Path of a program; raises NotPossible if it is missing."""
    return host.require(name, INSTALL)


@dataclass(frozen=True)
class Charon:
    """A VPN's charon on a node."""

    vpn: Vpn
    node: Node
    process: Process
    programs: Programs

    @classmethod
    def start(cls, vpn: Vpn, node: Node, programs: Programs) -> Charon:
        """Start it with the node's configuration; ready when it listens."""
        node.remove(VICI)  # left by a charon that was killed
        daemon = program(node, programs.daemon)
        process = vpn.start_process(node, [daemon], "charon", _environment(node))
        started = cls(vpn, node, process, programs)
        started.wait(lambda: accepts(node, VICI), f"listened at {VICI}")
        return started

    def wait(self, fact: Callable[[], bool], what: str) -> None:
        """Wait until a fact is true; ``what`` describes it as an action of charon."""
        self.vpn.await_fact(fact, self.process, f"charon on node {self.node.name} {what}")

    def children(self) -> int:
        """Child SAs that it has established so far, by its log."""
        return self.process.log_text().count(_ESTABLISHED)

    def command(self, words: Sequence[str], what: str) -> Completed:
        """Run swanctl; ``what`` is its purpose. Raises VpnError if charon refuses or does not
        answer."""
        where = f"charon on node {self.node.name}"
        try:
            done = self.node.run(
                [program(self.node, self.programs.console), *words, "--uri", f"unix://{VICI}"],
                env=_environment(self.node),
                timeout_s=self.vpn.up_deadline_s + 1,
                check=False,
            )
        except DeadlineExceeded as error:
            raise VpnError(
                self.vpn.id,
                f"{where} did not {what}: {error.why}{log_tail(self.process)}",
                "check whether the underlay carries UDP ports 500 and 4500, and see the log",
            ) from error
        if done.returncode == 0:
            return done
        code = self.process.returncode()
        alive = "" if self.process.alive() else f" (it ended with code {code})"
        printed = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise VpnError(
            self.vpn.id,
            f"{where} could not {what}{alive}: {' '.join(printed)}{log_tail(self.process)}",
            "see the log of each node for what the other refused",
        )


def sweep(node: Node) -> None:
    """Remove the kernel state of a charon that was killed."""
    for words in (
        ("rule", "del", "pref", str(_ROUTING_RULE)),
        ("-6", "rule", "del", "pref", str(_ROUTING_RULE)),
        ("route", "flush", "table", str(_ROUTING_RULE)),
    ):
        node.run([program(node, "ip"), *words], check=False)
    ipsec_inner.forget(node)


def _environment(node: Node) -> dict[str, str]:
    directory = node.directory / "strongswan"
    return {"STRONGSWAN_CONF": str(directory / "strongswan.conf"), "SWANCTL_DIR": str(directory)}
