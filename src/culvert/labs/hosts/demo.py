"""Hosts to try it on: namespaces of this machine, each with an sshd.

::

    a ──────────── b          the measured link of two hosts
    │              │
    └──── core ────┘          the way of SSH; with more hosts the measured one too
           │
       controller             ssh connects from here

Each has its own processes, /run, /tmp and host keys. ``known_hosts``, the user's key, the
configuration of ssh and the inventory are files of the run's directory.
"""

from __future__ import annotations

import json
import shlex
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from culvert import tools
from culvert.errors import LabError, NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.labs.process import Process
from culvert.privilege import is_root, with_sudo
from culvert.runid import new_run_id
from culvert.topology.graph import Network, NodeSpec, Role, Topology
from culvert.topology.graph import Path as Measured
from culvert.topology.link.spec import ANY_LINK, LinkSpec
from culvert.topology.shapes import CORE, member_names
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until

CONTROLLER = "controller"
PAIR = 2
PORT = 22
READY_S = 10.0
APART = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""Options of unshare(1): what a host does not share with this machine, besides the network."""
_THROUGH = Path(__file__).with_name("through.py")
_VIEW = r"""
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mkdir -p /run/sshd
"""


def topology(hosts: int) -> Topology:
    """Two hosts have a link of their own besides the way of SSH."""
    names = member_names(hosts)
    nodes = (
        *(NodeSpec(name) for name in names),
        NodeSpec(CONTROLLER),
        NodeSpec(CORE, Role.ROUTER),
    )
    between = (Network(*names),) if hosts == PAIR else ()
    to_core = tuple(Network(name, CORE) for name in (*names, CONTROLLER))
    return Topology("demo", nodes, between + to_core, (Measured(names[0], names[1]),))


class DemoHosts:
    """A context manager; ``inventory`` is the file for ``--inventory``."""

    def __init__(self, hosts: int = PAIR, link: LinkSpec = ANY_LINK) -> None:
        self.names = member_names(hosts)
        self._lab = NetnsLab(
            new_run_id(), LabSpec(topology=topology(hosts), link=link), machines=True
        )
        self.servers: dict[str, Process] = {}

    @property
    def directory(self) -> Path:
        return self._lab.nodes[CONTROLLER].directory

    @property
    def inventory(self) -> Path:
        return self.directory / "hosts.yml"

    @property
    def ssh_config(self) -> Path:
        return self.directory / "ssh_config"

    def node(self, name: str) -> NetnsNode:
        return self._lab.nodes[name]

    def open(self) -> None:
        """Create namespaces, start the sshds, write the files; after an error nothing remains."""
        if not is_root():
            raise NotPossible(
                "culvert hosts demo",
                "an sshd changes its user, which a user namespace does not allow",
                with_sudo("hosts demo"),
            )
        tools.require("sshd", "apt-get install openssh-server")
        self._lab.open()
        try:
            self._make()
        except BaseException:
            self._lab.close()
            raise

    def close(self) -> None:
        self._lab.close()

    def management(self, name: str) -> str:
        return str(self._lab.nodes[name].attachments[-1].address.ip)

    def start_sshd(
        self, name: str, *, view: str = "", options: str = "", apart: Sequence[str] = APART
    ) -> None:
        """Start a host's sshd, and wait until it listens. ``view`` are commands of a shell that
        change the host's view of the files before; ``options`` are lines of sshd_config."""
        node = self._lab.nodes[name]
        node.write("sshd_config", options + self._sshd_config(node, self.management(name)))
        script = ["sh", "-c", f"set -e{_VIEW}{view}" + '\nexec "$@"\n', "sh"]
        sshd = [str(tools.require("sshd", "apt-get install openssh-server")), "-D", "-e"]
        argv = ["unshare", *apart, *script, *sshd, "-f", str(node.directory / "sshd_config")]
        process = node.spawn(argv, name="sshd")
        self.servers[name] = process

        def listens() -> bool:
            if not process.alive():
                raise LabError(
                    f"sshd of host {name}", f"it ended: {process.log_text().strip()}", "report it"
                )
            return node.inside(lambda: _answers(self.management(name)))

        wait_until(listens, what=f"sshd of host {name} listened", deadline_s=READY_S, poll_s=0.02)

    def _make(self) -> None:
        controller = self._lab.nodes[CONTROLLER]
        user = self._key(controller, "user_key")
        known = []
        for name in self.names:
            node = self._lab.nodes[name]
            public = self._key(node, "host_key")
            known.append(f"{self.management(name)} {public}")
            node.write("run/authorized_keys", user + "\n")
            self.start_sshd(name)
        controller.write("known_hosts", "\n".join(known) + "\n")
        controller.write("ssh_config", self._ssh_config(controller))
        controller.write("hosts.yml", json.dumps(self._inventory(), indent=1) + "\n")

    @staticmethod
    def _key(node: NetnsNode, name: str) -> str:
        path = node.directory / name
        node.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "culvert", "-f", str(path)])
        return path.with_suffix(".pub").read_text().strip()

    @staticmethod
    def _sshd_config(node: NetnsNode, address: str) -> str:
        # SHLVL: bash reads no .bashrc of this machine's user (pyenv's waits a minute for its lock).
        return f"""\
ListenAddress {address}:{PORT}
HostKey {node.directory}/host_key
AuthorizedKeysFile /run/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
SetEnv SHLVL=2
Subsystem sftp internal-sftp
"""

    def _ssh_config(self, controller: NetnsNode) -> str:
        probe = tools.require("culvert-probe", "run `make setup`")
        enter = [str(probe), "exec", f"--netns={controller.netns_path}", "--"]
        way = shlex.join([*enter, sys.executable, "-I", "-S", str(_THROUGH)]).replace("%", "%%")
        return f"""\
Host *
  User root
  IdentityFile {self.directory}/user_key
  IdentitiesOnly yes
  UserKnownHostsFile {self.directory}/known_hosts
  GlobalKnownHostsFile /dev/null
  ProxyCommand {way} %h %p
  ProxyUseFdpass yes
"""

    def _inventory(self) -> Mapping[str, object]:
        """JSON is YAML."""
        hosts = {
            name: {
                "ansible_host": self.management(name),
                "culvert_address": str(self._lab.nodes[name].underlay.address.ip),
            }
            for name in self.names
        }
        common = {
            "ansible_user": "root",
            "ansible_ssh_common_args": f"-F {self.ssh_config}",
            # Not that of a checkout, which may lie below this machine's /tmp.
            "ansible_python_interpreter": str(Path(sys.executable).resolve()),
        }
        return {"all": {"vars": common, "hosts": hosts}}

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _answers(address: str) -> bool:
    try:
        socket.create_connection((address, PORT), timeout=1).close()
    except OSError:
        return False
    return True
