"""Nothing is left: at the end, at an exception, at Ctrl-C, and after ``kill -9``."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from culvert import tools
from culvert.errors import LabError
from culvert.labs.kubernetes.pods.lost import Controller
from culvert.labs.namespace import cleanup
from culvert.labs.namespace.cleanup import Leftover, LeftoverKind
from culvert.labs.namespace.places import prepare_names
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.runid import new_run_id
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until
from tests.conftest import LabFactory
from tests.labs.host import left_of, process_on, snapshot

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("killing")]


def test_the_host_is_as_it_was(lab: LabFactory) -> None:
    before = snapshot()
    triple = lab(LabSpec(topology=routed()))
    triple.nodes["router"].add_link("t0", "veth", peer="t1")
    triple.a.spawn(["sleep", "1000"], name="sleeper")
    assert left_of(triple.run_id)
    assert snapshot() == before
    triple.close()
    assert left_of(triple.run_id) == []
    assert snapshot() == before


def test_close_is_idempotent_and_a_lab_can_be_closed_unopened(lab: LabFactory) -> None:
    pair = lab()
    pair.close()
    pair.close()
    unopened = NetnsLab(new_run_id(), LabSpec())
    unopened.close()
    assert left_of(pair.run_id) == left_of(unopened.run_id) == []


def test_an_exception_in_the_with_block(lab: LabFactory) -> None:
    run_id = new_run_id()

    def live() -> None:
        with NetnsLab(run_id, LabSpec()) as pair:
            pair.a.spawn(["sleep", "1000"], name="sleeper")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        live()
    assert left_of(run_id) == []


@pytest.mark.parametrize(
    "step", ["link.veth.limit", "link.offloads.switch_off", "router.firewall.apply"]
)
def test_an_error_while_opening(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise LabError(step, "was told to fail", "none")

    monkeypatch.setattr(f"culvert.labs.{step}", fail)
    made = NetnsLab(new_run_id(), LabSpec(topology=routed()))
    made.spec = LabSpec(topology=routed(), link=type(made.spec.link)(rate_bps=10**9))
    with pytest.raises(LabError, match="was told to fail"):
        made.open()
    assert left_of(made.run_id) == []


def test_a_second_node_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    real = NetnsNode.open

    def fail_on_b(node: NetnsNode, settings: dict[str, str]) -> None:
        real(node, settings)
        if node.name == "b":
            raise KeyboardInterrupt

    monkeypatch.setattr(NetnsNode, "open", fail_on_b)
    made = NetnsLab(new_run_id(), LabSpec())
    with pytest.raises(KeyboardInterrupt):
        made.open()
    assert left_of(made.run_id) == []


def test_an_id_in_use_is_refused_and_the_lab_that_uses_it_stays(lab: LabFactory) -> None:
    pair = lab()
    with pytest.raises(LabError, match="in use"):
        lab(run_id=pair.run_id)
    assert pair.a.run(["true"]).returncode == 0


def test_a_run_that_goes_on_is_left_alone(lab: LabFactory) -> None:
    run = Leftover(LeftoverKind.RUN, lab().run_id)
    assert run not in cleanup.find_leftovers()
    assert run in cleanup.active()


def test_on_a_node_no_run_is_taken_for_dead(lab: LabFactory) -> None:
    """Its /run does not show the claims of the machine's runs."""
    find = "from culvert.labs.namespace.cleanup import find_leftovers; print(find_leftovers())"
    assert lab().a.run([sys.executable, "-c", find]).stdout.strip() == "[]"


def test_a_process_of_the_same_number_is_another() -> None:
    me = Controller.this()
    assert me.lives() is True
    assert replace(me, start_ticks=me.start_ticks + 1).lives() is False
    assert replace(me, boot="another-boot").lives() is None


def _live(
    run_id: str, number: str, call: int, topology: str, before: Sequence[str | Path] = ()
) -> subprocess.CompletedProcess[str]:
    program = [*before, sys.executable, "-m", "tests.labs.interrupted"]
    return subprocess.run(
        [*program, run_id, topology, number, str(call)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parents[2],
    )


@pytest.fixture(scope="module")
def calls() -> dict[str, int]:
    """How many calls an undisturbed life takes, by topology."""
    lives = {name: _live(new_run_id(), "SIGKILL", 0, name) for name in ("pair", "routed")}
    return {name: int(life.stdout) for name, life in lives.items()}


def _moment(calls: dict[str, int], topology: str, part: int) -> int:
    """A random call of the given tenth of a life."""
    tenth = calls[topology] * 9 // 100  # lives differ by a few calls, and none is to end before
    return part * tenth + random.randint(1, tenth)


@pytest.mark.parametrize("part", range(10))
def test_kill_9_at_a_random_moment(calls: dict[str, int], part: int) -> None:
    topology = ("pair", "routed")[part % 2]
    run_id, call = new_run_id(), _moment(calls, topology, part)
    life = _live(run_id, "SIGKILL", call, topology)
    assert life.returncode == -signal.SIGKILL, (call, life.stderr)
    run = Leftover(LeftoverKind.RUN, run_id)
    if run in cleanup.find_leftovers():
        cleanup.remove(run)
    assert left_of(run_id) == [], call
    assert run not in cleanup.find_leftovers()


@pytest.mark.parametrize("part", range(10))
def test_kill_9_in_a_pid_namespace_leaves_nothing(calls: dict[str, int], part: int) -> None:
    topology = ("pair", "routed")[part % 2]
    run_id, call = new_run_id(), _moment(calls, topology, part)
    apart = (tools.require("culvert-probe", "run `make setup`"), "rootless", "--keep-rights", "--")
    life = _live(run_id, "SIGKILL", call, topology, apart)
    assert life.returncode == -signal.SIGKILL, (call, life.stderr)
    assert left_of(run_id) == [], call


@pytest.mark.parametrize("part", range(10))
def test_ctrl_c_at_a_random_moment(calls: dict[str, int], part: int) -> None:
    topology = ("pair", "routed")[part % 2]
    run_id, call = new_run_id(), _moment(calls, topology, part)
    life = _live(run_id, "SIGINT", call, topology)
    assert life.returncode != 0, call
    assert "KeyboardInterrupt" in life.stderr
    assert left_of(run_id) == [], (call, life.stderr)


def test_a_lab_that_is_never_closed_ends_with_python() -> None:
    run_id = new_run_id()
    program = (
        "from culvert.labs.netns.lab import NetnsLab; from culvert.topology.spec import LabSpec;"
        f"lab = NetnsLab('{run_id}', LabSpec()); lab.open(); lab.a.spawn(['sleep', '9'], name='x')"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert left_of(run_id) == []


def _daemon(node: NetnsNode, *before: str) -> Path:
    """The folder in /proc of a program that nobody waits for."""
    words = " ".join((*before, "sleep 1000"))
    script = f"setsid {words} </dev/null >/dev/null 2>&1 & echo $!"
    return process_on(node, int(node.run(["sh", "-c", script]).stdout))


def _runs(process: Path) -> bool:
    """A process that has ended has no command line, also before its parent has read its end."""
    return process.exists() and bool((process / "cmdline").read_bytes())


@pytest.mark.parametrize("before", [(), ("unshare", "--net"), ("unshare", "--mount")])
def test_daemons_end_with_their_lab(lab: LabFactory, before: tuple[str, ...]) -> None:
    """Also those that have left the node's network namespace, or have a mount namespace."""
    pair = lab()
    daemon = _daemon(pair.a, *before)
    wait_until(lambda: (daemon / "comm").read_text() == "sleep\n", what="its start", deadline_s=5)
    pair.close()
    assert not _runs(daemon)


def test_a_daemon_ends_whose_namespace_has_lost_its_name(lab: LabFactory) -> None:
    pair = lab()
    daemon = _daemon(pair.a)
    subprocess.run(["ip", "netns", "delete", pair.a.netns_path.name], check=True)
    assert _runs(daemon)
    pair.close()
    assert not _runs(daemon)


def test_a_strangers_variable_binds_nothing(lab: LabFactory) -> None:
    """Neither of a run that goes on, nor of one that never was."""
    pair = lab()
    strangers = [
        subprocess.Popen(
            ["sleep", "1000"],
            env={"CULVERT_RUN": run_id, "CULVERT_NODE": "a"},
            start_new_session=True,
        )
        for run_id in (pair.run_id, new_run_id())
    ]
    try:
        pair.close()
        assert [stranger.poll() for stranger in strangers] == [None, None]
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()


def test_a_strangers_namespace_with_a_name_like_ours_stays() -> None:
    name = f"culvert-{new_run_id()}-a"
    prepare_names()
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        assert name not in str(cleanup.find_leftovers())
        assert name not in str(cleanup.active())
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=True)
