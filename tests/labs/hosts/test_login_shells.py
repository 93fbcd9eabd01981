"""What start files print is left out, and a login that runs no command is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.runid import new_run_id
from tests.labs.hosts.bad import another_sshd, fake, login, refused
from tests.labs.hosts.connections import connect
from tests.labs.hosts.remains import init_of

pytestmark = pytest.mark.lab
_DO = 'sh -c "$SSH_ORIGINAL_COMMAND"'


@pytest.mark.parametrize(
    "script",
    [
        f"echo motd; echo warning >&2; {_DO}",
        f'printf "no newline"; printf "no newline" >&2; {_DO}',
        f"for x in 1 2 3; do echo $x; sleep 1; done; {_DO}",
    ],
)
def test_a_talkative_login_shell(demo: DemoHosts, inventory: Inventory, script: str) -> None:
    with another_sshd(demo, **login(script)), Fleet(inventory, new_run_id()) as fleet:
        (host,) = connect(fleet, inventory.hosts[:1])
        assert host.run(["id", "-u"]).stdout == "0\n"
        assert fleet.close() == []
    assert not list(Path(f"/proc/{init_of(demo, 'a')}/root/tmp").glob("culvert-*"))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 0", "the login does not start a POSIX shell: no answer"),
        ("echo This account is not available; exit 1", "This account is not available"),
        ("kill -9 $PPID", ""),
    ],
)
def test_a_login_shell_that_runs_no_command(
    demo: DemoHosts, inventory: Inventory, script: str, why: str
) -> None:
    with another_sshd(demo, **login(script)):
        assert why in refused(inventory).why


def test_a_probe_that_does_not_arrive_whole(demo: DemoHosts, inventory: Inventory) -> None:
    with another_sshd(demo, **fake("sha256sum", "echo 0")):
        assert "the probe did not arrive whole" in refused(inventory).why
