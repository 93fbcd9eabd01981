"""``culvert wire``: the link without a lab, as a person at a terminal uses it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from culvert.labs.namespace.places import NAMESPACES
from culvert.runid import new_run_id
from tests.cli import CULVERT

pytestmark = pytest.mark.lab
DEADLINE_S = 20.0


@pytest.fixture
def ends() -> Iterator[tuple[str, str]]:
    """Two namespaces, by name."""
    run_id = new_run_id()
    names = (f"hand-{run_id}-a", f"hand-{run_id}-b")
    for name in names:
        subprocess.run(["ip", "netns", "add", name], check=True)
    yield names
    for name in names:
        subprocess.run(["ip", "netns", "del", name], check=True)


def words(ends: tuple[str, str], *options: str) -> list[str]:
    a, b = ends
    return [str(CULVERT), "wire", "cable", "--a", f"{a}:u0", "--b", f"{b}:u0", *options]


def devices(name: str) -> set[str]:
    told = subprocess.run(
        ["ip", "-json", "-n", name, "link"], check=True, capture_output=True, text=True
    )
    return {link["ifname"] for link in json.loads(told.stdout)} - {"lo"}


@contextmanager
def at_a_terminal(argv: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    screen, terminal = pty.openpty()
    process = subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    try:
        yield process, screen
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def read_until(screen: int, wanted: str) -> None:
    """Return as soon as the screen shows that (a regular expression)."""
    shown, end = b"", time.monotonic() + DEADLINE_S
    while not re.search(wanted.encode(), shown):
        ready, _, _ = select.select([screen], [], [], max(end - time.monotonic(), 0))
        assert ready, shown
        shown += os.read(screen, 65536)


def test_a_cable_by_hand_prints_its_counts_and_ctrl_c_ends_it(ends: tuple[str, str]) -> None:
    argv = words(ends, "--delay", "1ms", "--interval-ms", "50")
    with at_a_terminal(argv) as (process, screen):
        read_until(screen, '"event":"ready"')
        for name, address in zip(ends, ("10.9.0.1/24", "10.9.0.2/24"), strict=True):
            subprocess.run(["ip", "-n", name, "addr", "add", address, "dev", "u0"], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "u0", "up"], check=True)
        ping = ["ip", "netns", "exec", ends[0], "ping", "-c3", "-i0.01", "10.9.0.2"]
        patient, hasty = [*ping, "-W5"], [*ping, "-W0.2"]
        assert b"3 received" in subprocess.run(patient, check=True, capture_output=True).stdout
        lose = {"command": "set", "conditions": {"loss": {"probability": 1}}}
        os.write(screen, json.dumps(lose).encode() + b"\n")
        read_until(screen, '"event":"done".*"command":"set"')
        assert b"0 received" in subprocess.run(hasty, check=False, capture_output=True).stdout
        # A node that has just come up sends some packets on its own.
        read_until(screen, r'"lost_packets":([3-9]|\d\d)')
        process.send_signal(signal.SIGINT)
        read_until(screen, '"event":"end".*"reason":"signal"')
        assert process.wait(DEADLINE_S) == 0
    assert devices(ends[0]) == devices(ends[1]) == set()


def refused(argv: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert "panicked" not in done.stderr
    return done.returncode, done.stderr


def test_mistakes_get_a_line_and_a_code(ends: tuple[str, str], tmp_path: Path) -> None:
    subprocess.run(["ip", "-n", ends[0], "link", "add", "u0", "type", "veth"], check=True)
    code, said = refused(words(ends))
    assert (code, f"device u0 in {NAMESPACES / ends[0]}" in said) == (1, True), said
    assert "a device of that name exists already" in said
    assert devices(ends[1]) == set()
    code, said = refused(words((ends[1], "hand-none")))
    assert (code, "hand-none: No such file" in said) == (1, True), said
    assert devices(ends[1]) == set()
    (tmp_path / "bad").write_text("5\n3\n")
    code, said = refused(words(ends, "--a-to-b", json.dumps({"trace": str(tmp_path / "bad")})))
    assert (code, "line 2 is earlier" in said) == (2, True), said
    code, said = refused(words(ends, "--loss", "101%"))
    assert (code, "from 0% to 100%" in said) == (2, True), said
