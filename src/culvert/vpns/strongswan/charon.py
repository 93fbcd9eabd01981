"""charon, strongSwan's daemon: what it takes, how it is started on a node, and told what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from culvert.errors import DeadlineExceeded, VpnError
from culvert.labs.host import Completed, Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.facts import tun_lacks, wait_for_fact
from culvert.vpns.ipsec import inner as ipsec_inner
from culvert.vpns.packages import package_version
from culvert.vpns.strongswan.config import VICI
from culvert.vpns.variant import Missing

INSTALL = "culvert install strongswan"
_DAEMON = "charon-systemd"
_CONTROL = "swanctl"
_PLUGIN = "libstrongswan-kernel-libipsec.so"
_PLUGIN_DIRECTORIES = (
    "/usr/lib/ipsec/plugins",
    "/usr/lib/strongswan/plugins",
    "/usr/lib64/strongswan/plugins",
    "/usr/local/lib/ipsec/plugins",
)
_ROUTING_RULE = 220
"""The table, and the priority of its rule, that charon puts its routes into."""


def lacks(host: Host) -> Iterator[Missing]:
    """The programs that are not there."""
    for program in (_DAEMON, _CONTROL, "ip"):
        if host.find(program) is None:
            yield Missing(program, INSTALL)


def lacks_in_user_space(host: Host) -> Iterator[Missing]:
    """What ESP in charon takes besides."""
    if not any(host.exists(f"{place}/{_PLUGIN}") for place in _PLUGIN_DIRECTORIES):
        yield Missing("strongSwan's plugin kernel-libipsec", INSTALL)
    yield from tun_lacks(host)


def version(host: Host) -> list[str]:
    """strongSwan's, and the package's if it is one."""
    # From swanctl: charon-systemd does not print it, but starts whatever it is called with.
    shown = host.run([program(host, _CONTROL), "--help"], check=False)
    found = re.search(r"strongSwan (\S+) swanctl", shown.stdout + shown.stderr)
    package = package_version(host, _DAEMON)
    return [found[1] if found else "unknown", *([f"package {package}"] if package else [])]


def program(host: Host, name: str) -> str:
    """Its path; raises NotPossible where it is missing."""
    return host.require(name, INSTALL)


@dataclass(frozen=True)
class Charon:
    """One on a node; ``vpn`` is whom errors name."""

    vpn: str
    node: Node
    process: Process
    deadline_s: float

    @classmethod
    def start(cls, vpn: str, node: Node, deadline_s: float, running: list[Process]) -> Charon:
        """Start it with the node's configuration; ready when it listens. At once it is one of the
        ``running``, which whoever started it ends."""
        node.remove(VICI)  # of one that was killed
        process = node.spawn([program(node, _DAEMON)], name="charon", env=_environment(node))
        running.append(process)
        started = cls(vpn, node, process, deadline_s)
        started.wait(lambda: _listens(node), f"listened at {VICI}")
        return started

    def wait(self, fact: Callable[[], bool], what: str) -> None:
        """Until a fact comes about that is told as what charon did."""
        wait_for_fact(
            fact,
            vpn=self.vpn,
            process=self.process,
            what=f"charon on node {self.node.name} {what}",
            deadline_s=self.deadline_s,
        )

    def tell(self, words: Sequence[str], what: str) -> Completed:
        """By swanctl; ``what`` it is for. Raises VpnError if charon refuses, or says nothing."""
        where = f"charon on node {self.node.name}"
        try:
            done = self.node.run(
                [program(self.node, _CONTROL), *words, "--uri", f"unix://{VICI}"],
                env=_environment(self.node),
                timeout_s=self.deadline_s + 1,
                check=False,
            )
        except DeadlineExceeded as error:
            raise VpnError(
                self.vpn,
                f"{where} did not {what}: {error.why}; its log ends: {_log_end(self.process)}",
                "look whether the underlay carries UDP ports 500 and 4500, and at the log",
            ) from error
        if done.returncode == 0:
            return done
        code = self.process.returncode()
        alive = "" if self.process.alive() else f" (it ended with code {code})"
        said = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise VpnError(
            self.vpn,
            f"{where} could not {what}{alive}: {' '.join(said)}; "
            f"its log ends: {_log_end(self.process)}",
            "look at the log of each node for what the other refused",
        )


def sweep(node: Node) -> None:
    """Remove what a charon that was killed has left in the kernel."""
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


def _listens(node: Node) -> bool:
    node.dial(VICI).close()
    return True


def _log_end(process: Process) -> str:
    lines = [line.strip() for line in process.log_text().splitlines() if line.strip()]
    return " | ".join(lines[-5:]) or "nothing"
