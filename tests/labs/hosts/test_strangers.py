"""What a host prints is a stranger's: its words before and after an answer are left out, and what
cannot be is that host's error, never the other hosts'."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from culvert.errors import LabError
from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.hosts.fleet import Fleet
from culvert.labs.hosts.listed.inventory import Inventory
from culvert.labs.hosts.ssh.printed import Marks, last_line
from culvert.runid import new_run_id
from tests.labs.hosts.bad import another_sshd, fake, login, refused
from tests.labs.hosts.connections import connect
from tests.labs.hosts.remains import init_of

_COMMAND = "printf '%s' \"it's !\" | cat; echo no >&2; exit 3"
_DO = 'sh -c "$SSH_ORIGINAL_COMMAND"'
_NOISE = r'printf "\000\033[2J\377\r\n{\"id\": 1}\n[]\n%s" "no newline"'


@pytest.mark.parametrize("shell", ["dash", "bash", "rbash", "ksh", "zsh", "csh", "tcsh", "fish"])
def test_marks_survive_any_login_shell(shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell} here")
    marks = Marks()
    done = subprocess.run(
        [path, "-c", marks.around(_COMMAND)], capture_output=True, timeout=60, check=False
    )
    found = (done.returncode, marks.inside(done.stdout), marks.inside(done.stderr))
    assert found == (3, b"it's !", b"no\n")


@pytest.mark.parametrize(
    "printed", [b"", b"motd\n", b"\n", b"culvert-0\n", b"\0\xff\x1b[2J", b"echo; echo culvert-"]
)
def test_an_answer_has_marks_on_both_sides(printed: bytes) -> None:
    marks = Marks()
    mark = marks._line
    assert marks.inside(printed + mark + b"answer" + mark + printed) == b"answer"
    assert marks.inside(printed) is None
    assert marks.inside(printed + mark + b"answer") is None


def test_the_last_line_is_short_and_printable() -> None:
    assert last_line(b"", b"one\n\x1b[2Jtwo\xff\n \n") == "[2Jtwo\N{REPLACEMENT CHARACTER}"
    assert last_line(b"x" * 10**6) == "x" * 200
    assert last_line(b"", b"\n\0") == ""


@pytest.mark.lab
@pytest.mark.parametrize(
    "script",
    [
        f"echo motd; echo warning >&2; {_DO}; echo bye; echo bye >&2",
        f"{_NOISE}; {_NOISE} >&2; {_DO}; {_NOISE}",
        f"head -c 500000 /dev/zero; head -c 500000 /dev/urandom >&2; {_DO}",
        'sh -vxc "$SSH_ORIGINAL_COMMAND"',
        f'echo "$SSH_ORIGINAL_COMMAND"; echo "$SSH_ORIGINAL_COMMAND" >&2; {_DO}',
        f"for x in 1 2 3; do echo $x; sleep 1; done; {_DO}",
        'exec rbash -c "$SSH_ORIGINAL_COMMAND"',
        f"echo Permission denied >&2; echo Connection refused; {_DO}",
        'eval "$SSH_ORIGINAL_COMMAND"; code=$?; echo bye; exit $code',
    ],
)
def test_a_talkative_login_shell(demo: DemoHosts, inventory: Inventory, script: str) -> None:
    script = script.replace("'", "'\\''")
    with another_sshd(demo, **login(script)), Fleet(inventory, new_run_id()) as fleet:
        (host,) = connect(fleet, inventory.hosts[:1])
        assert host.run(["id", "-u"]).stdout == "0\n"
        assert fleet.close() == []
    assert not list(Path(f"/proc/{init_of(demo, 'a')}/root/tmp").glob("culvert-*"))


@pytest.mark.lab
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 0", "the login does not start a POSIX shell: no answer"),
        ("echo This account is not available; exit 1", "This account is not available"),
        (f"head -c 300000000 /dev/zero; {_DO}", "printed more than 1 MiB at the login"),
        (f"head -c 300000000 /dev/zero >&2; {_DO}", "printed more than 1 MiB at the login"),
        ("yes", "printed more than 1 MiB at the login"),
        ("read answer; echo denied >&2", "the login does not start a POSIX shell: no answer"),
        ("kill -9 $PPID", ""),
    ],
)
def test_a_login_shell_that_runs_no_command(
    monkeypatch: pytest.MonkeyPatch, demo: DemoHosts, inventory: Inventory, script: str, why: str
) -> None:
    monkeypatch.setattr("culvert.labs.hosts.ssh.connection.WATCHED_S", 10.0)
    with another_sshd(demo, **login(script)):
        assert why in refused(inventory).why


@pytest.mark.lab
def test_a_login_shell_that_gives_commands_another_input(
    demo: DemoHosts, inventory: Inventory
) -> None:
    """Noticed when the connection ends at once, or by what a script does with such an input."""
    with another_sshd(demo, **login(f"yes | {_DO}")):
        why = refused(inventory).why
    assert "do not read the data sent to them" in why or "more than 1 MiB at the login" in why


@pytest.mark.lab
def test_a_program_that_never_stops_printing(fleet: Fleet) -> None:
    (host,) = connect(fleet, fleet.inventory.hosts[:1])
    with pytest.raises(LabError, match="yes on a: it printed more than 64 MiB"):
        host.run(["yes"], timeout_s=60)
    assert host.run(["echo", "still"]).stdout == "still\n"


@pytest.mark.lab
@pytest.mark.parametrize(
    ("program", "script", "why"),
    [
        ("uname", "head -c 100000 /dev/zero | tr '\\000' x", "for uname -m it reports 'xxxx"),
        ("uname", "exit 127", "for uname -m it reports nothing"),
        ("uname", "head -c 3000000 /dev/zero | tr '\\000' x", "printed more than 1 MiB"),
        ("uname", "echo ../../etc/passwd", "for uname -m it reports '../../etc/passwd'"),
        ("uname", r'printf "\033[2Jx86_64"', "for uname -m it reports"),
        ("uname", r'printf "\377\376"', "for uname -m it reports"),
        ("date", "echo tomorrow; echo x", "for date +%s it reports 'tomorrow'"),
        ("date", "echo 99999999999999999999", "for date +%s it reports '99999"),
        ("sha256sum", "echo 0", "the probe did not arrive whole"),
    ],
)
def test_what_a_hosts_programs_print(
    demo: DemoHosts, inventory: Inventory, program: str, script: str, why: str
) -> None:
    script = script.replace("'", "'\\''")
    with another_sshd(demo, **fake(program, script)):
        error = refused(inventory)
    assert why in error.why
    assert len(error.why) < 1000
