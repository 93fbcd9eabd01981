"""Hosts whose user logs in as people do, and becomes root as is usual there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.labs.hosts.demo import APART, DemoHosts

USER = "tester"
PASSWORD = "correct horse"
_WITH_SUDO = "Defaults lecture = never\nroot ALL=(ALL) ALL\n"


@dataclass(frozen=True)
class Login:
    """A user of a host: ``sudoers`` and ``doas_conf`` are the files' contents; ``variables`` are
    Ansible's for it."""

    name: str
    user: str = USER
    sudoers: str = _WITH_SUDO
    doas_conf: str = ""
    password: str | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Of the inventory."""
        given = {"ansible_user": self.user}
        if self.password is not None:
            given["ansible_become_password"] = self.password
        return given

    @property
    def view(self) -> str:
        """Commands of a shell that give a host this user. What programs write outside of the
        temporary folders is below /run/written."""
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", "-salt", "culvert", PASSWORD],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        changes = "/run/written/$place/changes,workdir=/run/written/$place/work"
        return f"""
mkdir -p /run/written
mount -t tmpfs -o mode=0755 tmpfs /run/written
for place in etc var home root opt srv usr; do
  mkdir -p /run/written/$place/changes /run/written/$place/work
  mount -t overlay -o lowerdir=/$place,upperdir={changes} overlay /$place
done
mount -t tmpfs -o mode=1777 tmpfs /var/tmp
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mkdir -p /home/{USER}
mount -t tmpfs -o mode=0700,uid=4242,gid=4242 tmpfs /home/{USER}
echo '{USER}:x:4242:4242::/home/{USER}:/bin/sh' >> /etc/passwd
echo '{USER}:{hashed}:20000:0:99999:7:::' >> /etc/shadow
printf '%s' '{self.sudoers}' > /etc/sudoers
chmod 440 /etc/sudoers
printf '%s' '{self.doas_conf}' > /etc/doas.conf
chmod 400 /etc/doas.conf
"""


ROOT = Login("root", user="root")
NOPASSWD = Login("sudo", sudoers=f"{_WITH_SUDO}{USER} ALL=(ALL) NOPASSWD: ALL\n")
WITH_PASSWORD = Login(
    "sudo with a password", sudoers=f"{_WITH_SUDO}{USER} ALL=(ALL) ALL\n", password=PASSWORD
)
DOAS = Login("doas", doas_conf=f"permit nopass {USER} as root\n")
WAYS = (ROOT, NOPASSWD, WITH_PASSWORD, DOAS)


def log_in_as(
    demo: DemoHosts,
    login: Login,
    *,
    view: str = "",
    options: str = "",
    apart: Sequence[str] = APART,
) -> Path:
    """Start the hosts' sshds with this user; returns the inventory that logs in as it."""
    for name in demo.names:
        demo.servers[name].stop(grace_s=0)
        demo.start_sshd(name, view=login.view + view, options=options, apart=apart)
    listed = json.loads(demo.inventory.read_text())
    listed["all"]["vars"].update(login.variables)
    inventory = demo.inventory.with_name("as-user.yml")
    inventory.write_text(json.dumps(listed))
    return inventory
