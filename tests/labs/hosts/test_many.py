"""Many hosts: how far a check is, and that Ctrl-C ends it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.waiting import wait_until

HOSTS = 300


def checking(path: Path, port: int) -> subprocess.Popen[str]:
    """A check of many hosts that are all on one port of this machine."""
    hosts = {
        f"h{number}": {"ansible_host": f"127.0.{number // 250}.{number % 250 + 1}"}
        | {"ansible_port": port, "ansible_ssh_common_args": "-F none"}
        for number in range(HOSTS)
    }
    inventory, told = path / "hosts.yml", path / "told"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    words = ["hosts", "check", "--no-links", "--json", "--inventory", str(inventory)]
    with told.open("w") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "culvert", *words],
            stdout=subprocess.PIPE,
            stderr=err,
            text=True,
            start_new_session=True,
        )


@pytest.mark.lab
def test_ctrl_c_ends_a_check_of_hosts_that_are_silent(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with socket.create_server(("", 0), backlog=1000) as silent:
        process = checking(tmp_path, silent.getsockname()[1])
        wait_until(
            lambda: f"hosts looked at: 0 of {HOSTS}" in told.read_text(),
            what="a line that says how far it is",
            deadline_s=120,
        )
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert not out
    assert "Traceback" not in told.read_text()


@pytest.mark.lab
def test_each_host_that_refuses_has_its_row(tmp_path: Path) -> None:
    with socket.create_server(("", 0)) as closed:
        port = closed.getsockname()[1]
    process = checking(tmp_path, port)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 1
    rows = json.loads(out)["hosts"]
    assert len(rows) == HOSTS
    assert {row["problems"][0]["why"] for row in rows} == {"no sshd listens on its port"}
