"""A vendor's package follows its pins: version, key, address; nothing switches signatures off.

The roles run in a mount namespace whose apt and dpkg have their own directories, and the vendor's
repository is a directory: nothing comes from the network, and the machine's packages stay.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.install.apt_repository import PACKAGE, PROGRAM, Key, new_key, publish
from tests.install.playbook import Applied, apply

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="installing needs root"),
    pytest.mark.skipif(shutil.which("gpg") is None, reason="no gpg: apt-get install gnupg"),
    pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no apt"),
]

# Where apt's own user can read it.
REPOSITORY = Path("/var/log/culvert-test-repository")
ISOLATE = f"""
set -e
cp -a /var/lib/dpkg "$0"
mount --make-rprivate /
mount --bind "$0/dpkg" /var/lib/dpkg
for directory in /etc/apt/sources.list.d /usr/share/keyrings /var/lib/apt \\
  /var/cache/apt /var/log; do
  mount -t tmpfs none "$directory"
done
[ ! -e /etc/apt/sources.list ] || mount --bind "$1" /etc/apt/sources.list
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial /var/log/apt {REPOSITORY}
mount --bind "$0/repository" {REPOSITORY}
echo ready
exec cat
"""
SOURCE = Path("/etc/apt/sources.list.d/culvert-vendor.sources")
KEYRINGS = Path("/usr/share/keyrings")


@dataclass(frozen=True)
class Machine:
    """A view of this machine, and the vendor's repository with its two keys."""

    pid: int
    directory: Path
    first: Key
    second: Key

    @property
    def repository(self) -> Path:
        return self.directory / "repository"

    @property
    def within(self) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.pid}/ns/mnt"]

    def run(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.within, *argv], capture_output=True, text=True, check=False)

    def files(self) -> list[str]:
        shown = self.run("find", str(SOURCE.parent), str(KEYRINGS), "-type", "f").stdout
        return sorted(Path(line).name for line in shown.split())

    def install(
        self, version: str, key: Key, *, program: str = str(PROGRAM), **environment: str
    ) -> Applied:
        return apply(
            "vendor-package",
            {
                "vendor_package_name": PACKAGE,
                "vendor_package_version": version,
                "vendor_package_program": program,
                "vendor_package_units_off": [],
                "vendor_repository_name": "vendor",
                "vendor_repository_key": key.file.as_uri(),
                "vendor_repository_fingerprint": key.fingerprint,
                "vendor_repository_uri": REPOSITORY.as_uri(),
                "vendor_repository_suite": "stable",
                "culvert_tools": str(self.directory / "tools"),
            },
            self.directory / "home",
            within=self.within,
            environment=environment,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    (tmp_path / "repository").mkdir()
    keys = [new_key(tmp_path / name) for name in ("first", "second")]
    empty = tmp_path / "sources.list"
    empty.touch()
    holder = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", ISOLATE, str(tmp_path), str(empty)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "ready\n"
        yield Machine(holder.pid, tmp_path, *keys)
    finally:
        for key in keys:
            key.end()
        holder.stdin.close()
        holder.wait(timeout=10)
        holder.stdout.close()


@pytest.mark.long
def test_version_and_key_follow_their_pins(machine: Machine) -> None:
    publish(machine.repository, ["1.0", "2.0"], machine.first)
    assert (done := machine.install("1.0", machine.first)).ok, done.output
    assert machine.run(str(PROGRAM)).stdout == "1.0\n"
    assert machine.files() == [f"culvert-vendor-{machine.first.fingerprint}.gpg", SOURCE.name]
    again = machine.install("1.0", machine.first)
    assert (again.ok, again.changed) == (True, 0), again.output

    assert (done := machine.install("2.0", machine.first)).ok, done.output
    assert machine.run(str(PROGRAM)).stdout == "2.0\n"

    # An older pin too, in the same step as another key, with which the vendor signs from now on.
    publish(machine.repository, ["1.0", "2.0"], machine.second)
    assert (done := machine.install("1.0", machine.second)).ok, done.output
    assert machine.run(str(PROGRAM)).stdout == "1.0\n"
    assert machine.files() == [f"culvert-vendor-{machine.second.fingerprint}.gpg", SOURCE.name]
    assert not PROGRAM.exists()  # on the machine itself


@pytest.mark.long
def test_what_another_key_signed_is_refused_whatever_the_environment_says(
    machine: Machine,
) -> None:
    permissive = machine.directory / "apt.conf"
    permissive.write_text(
        'Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n'
    )
    publish(machine.repository, ["1.0"], machine.second)
    done = machine.install("1.0", machine.first, APT_CONFIG=str(permissive))
    assert not done.ok, done.output
    assert f"NO_PUBKEY {machine.second.fingerprint[-16:]}" in done.output
    assert machine.run("test", "-e", str(PROGRAM)).returncode == 1


def test_a_program_that_the_user_installed_stays(machine: Machine) -> None:
    publish(machine.repository, ["1.0"], machine.first)
    done = machine.install("1.0", machine.first, program="sh")
    assert (done.ok, done.changed) == (True, 0), done.output
    assert machine.files() == []
