"""NetBird's servers are those of the pinned images, also after a pin changed.

A program of the test stands for podman: it writes the image's name into the file that it copies.
"""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.install.playbook import Applied, apply

PODMAN = """#!/bin/sh
case $1 in
  create) echo "$2" >> "$0.created"; echo "$2" ;;
  cp) printf '#!/bin/sh\\n# %s\\n' "$2" > "$3"; chmod 755 "$3" ;;
  rm) ;;
  *) exit 2 ;;
esac
"""
SERVER, RELAY = "netbird-server", "netbird-relay"
OLD = {
    SERVER: f"docker.io/netbirdio/netbird-server@sha256:{'1' * 64}",
    RELAY: f"docker.io/netbirdio/relay@sha256:{'2' * 64}",
}
NEW = OLD | {SERVER: f"docker.io/netbirdio/netbird-server@sha256:{'3' * 64}"}


def executable(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The directory of the user's programs: podman, and a client, which therefore stays."""
    executable(tmp_path / "users/podman", PODMAN)
    executable(tmp_path / "users/netbird")
    return tmp_path / "users"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return tmp_path / "tools"


def netbird(tools: Path, users: Path, servers: dict[str, str]) -> Applied:
    # A package that is always there: no test installs one on the machine.
    variables = {
        "culvert_tools": str(tools),
        "netbird_servers": servers,
        "netbird_packages": ["dpkg"],
    }
    return apply("netbird", variables, tools.parent / "home", path=[users])


def created(users: Path) -> list[str]:
    return (users / "podman.created").read_text().split()


def test_a_changed_digest_is_fetched_and_the_other_program_is_not(tools: Path, users: Path) -> None:
    first = netbird(tools, users, OLD)
    assert first.ok, first.output
    assert (tools / "bin" / SERVER).resolve() == tools / "netbird" / ("1" * 64) / SERVER
    assert OLD[SERVER] in (tools / "bin" / SERVER).read_text()
    again = netbird(tools, users, OLD)
    assert (again.ok, again.changed) == (True, 0), again.output
    changed = netbird(tools, users, NEW)
    assert changed.ok, changed.output
    assert NEW[SERVER] in (tools / "bin" / SERVER).read_text()
    assert OLD[RELAY] in (tools / "bin" / RELAY).read_text()
    assert created(users) == [OLD[SERVER], OLD[RELAY], NEW[SERVER]]
    left = sorted(path.name for path in (tools / "netbird").iterdir())
    assert left == ["2" * 64, "3" * 64]


def test_a_program_without_a_digest_in_our_tools_is_replaced(tools: Path, users: Path) -> None:
    executable(tools / "bin" / SERVER, "#!/bin/sh\n# of an unknown image\n")
    assert (done := netbird(tools, users, OLD)).ok, done.output
    assert OLD[SERVER] in (tools / "bin" / SERVER).read_text()


def test_the_users_own_program_stays(tools: Path, users: Path) -> None:
    own = executable(users / SERVER, "#!/bin/sh\n# of the user\n")
    assert (done := netbird(tools, users, OLD)).ok, done.output
    assert not (tools / "bin" / SERVER).exists()
    assert own.read_text().endswith("# of the user\n")
    assert created(users) == [OLD[RELAY]]
