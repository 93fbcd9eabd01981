"""Nothing is left: at the end, at an exception, at Ctrl-C, and after ``kill -9`` and a cleaning."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.errors import LabError
from culvert.labs.namespace import binding, cleanup, owner
from culvert.labs.namespace.cleanup import Leftover, LeftoverKind
from culvert.labs.namespace.places import RUNS
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.node import NetnsNode
from culvert.machine import cgroup
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec, Processors
from tests.conftest import LabFactory
from tests.labs.host import left_of, snapshot

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
    "step", ["link.shaping.limit", "link.offloads.switch_off", "router.firewall.load"]
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
    pair = lab()
    assert [one for one in cleanup.find_leftovers() if one.run_id == pair.run_id] == []
    everything = cleanup.find_leftovers(all_runs=True)
    assert {LeftoverKind.NAMESPACE, LeftoverKind.OWNER} <= {
        one.kind for one in everything if one.run_id == pair.run_id
    }


def test_on_a_node_no_run_is_taken_for_dead(lab: LabFactory) -> None:
    """Its /run does not show who owns the machine's runs, this one's among them."""
    find = "from culvert.labs.namespace.cleanup import find_leftovers; print(find_leftovers())"
    assert lab().a.run([sys.executable, "-c", find]).stdout.strip() == "[]"


def test_a_process_of_the_same_number_is_not_the_owner() -> None:
    pid = os.getpid()
    run_id = new_run_id()
    owner.claim(run_id)
    try:
        me = owner.owner_of(run_id)
        assert me is not None
        assert me.alive()
        assert not owner.Owner(pid, me.start_ticks + 1, me.boot).alive()
        assert not owner.Owner(pid, me.start_ticks, "another-boot").alive()
    finally:
        owner.release(run_id)


def _live(run_id: str, number: str, call: int, topology: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.labs.interrupted", run_id, topology, number, str(call)],
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
    found = [one for one in cleanup.find_leftovers() if one.run_id == run_id]
    for leftover in found:
        cleanup.remove(leftover)
    assert left_of(run_id) == [], call
    assert [one for one in cleanup.find_leftovers() if one.run_id == run_id] == []


@pytest.mark.parametrize("part", range(10))
def test_ctrl_c_at_a_random_moment(calls: dict[str, int], part: int) -> None:
    topology = ("pair", "routed")[part % 2]
    run_id, call = new_run_id(), _moment(calls, topology, part)
    life = _live(run_id, "SIGINT", call, topology)
    assert life.returncode != 0, call
    assert "KeyboardInterrupt" in life.stderr
    assert left_of(run_id) == [], (call, life.stderr)


def test_the_next_lab_of_that_id_removes_what_was_left(calls: dict[str, int]) -> None:
    run_id = new_run_id()
    _live(run_id, "SIGKILL", calls["pair"] * 6 // 10, "pair")
    assert left_of(run_id)
    with NetnsLab(run_id, LabSpec()) as pair:
        assert pair.a.run(["true"]).returncode == 0
    assert left_of(run_id) == []


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


def test_processes_that_hold_a_namespace_without_a_name_are_found(lab: LabFactory) -> None:
    """A run whose names are gone is still known by what its processes carry."""
    pair = lab()
    sleeper = pair.a.spawn(["sleep", "1000"], name="sleeper")
    process = Leftover(LeftoverKind.PROCESS, f"{sleeper.pid} sleep", pair.run_id)
    namespace = Leftover(LeftoverKind.NAMESPACE, str(pair.a.netns_path), pair.run_id)
    cleanup.remove(namespace)
    assert process in cleanup.find_leftovers(all_runs=True)
    cleanup.remove(process)
    assert not sleeper.alive()
    cleanup.remove(process)
    cleanup.remove(namespace)


def test_a_strangers_variable_binds_nothing(lab: LabFactory) -> None:
    """Neither of a run that goes on, nor of one that is gone, nor of one that never was."""
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
        found = cleanup.find_leftovers(all_runs=True)
        processes = {one.pid for one in found if one.kind is LeftoverKind.PROCESS}
        assert not processes & {stranger.pid for stranger in strangers}
        cleanup.remove(Leftover(LeftoverKind.PROCESS, f"{strangers[0].pid} sleep", pair.run_id))
        pair.close()
        assert [stranger.poll() for stranger in strangers] == [None, None]
    finally:
        for stranger in strangers:
            stranger.kill()
            stranger.wait()


def test_a_wire_is_found_by_its_record_alone(lab: LabFactory) -> None:
    """It runs outside of the namespaces. A record of another process of that id is none."""
    pair = lab(LabSpec(link=LinkSpec(kind="wire")))
    pid = pair.wires[0].program.pid
    assert pid is not None
    wire = Leftover(LeftoverKind.PROCESS, f"{pid} culvert-wire", pair.run_id)
    assert wire in cleanup.find_leftovers(all_runs=True)
    (link,) = (RUNS / pair.run_id).glob("*.process")
    _, ticks, boot = link.readlink().name.split(".")
    link.unlink()
    link.symlink_to(f"{os.getpid()}.{ticks}.{boot}")
    found = cleanup.find_leftovers(all_runs=True)
    assert {pid, os.getpid()}.isdisjoint(
        one.pid for one in found if one.kind is LeftoverKind.PROCESS
    )


def test_a_member_of_a_control_group_is_found_without_its_namespaces(lab: LabFactory) -> None:
    pair = lab(LabSpec(processors=Processors(quota={"a": 0.5})))
    (group,) = (path for path, run in cgroup.runs().items() if run == pair.run_id)
    stranger = subprocess.Popen(["sleep", "1000"], env={})
    try:
        (group / "cgroup.procs").write_text(str(stranger.pid))
        process = Leftover(LeftoverKind.PROCESS, f"{stranger.pid} sleep", pair.run_id)
        assert process in cleanup.find_leftovers(all_runs=True)
    finally:
        stranger.kill()
        stranger.wait()


def test_the_mount_of_a_nodes_directory_is_told_from_that_of_the_run() -> None:
    host = "29 1 0:26 / /run/culvert/ab12 rw,nosuid - tmpfs culvert-ab12 rw,mode=700"
    node = "99 1 0:26 /a/run /run rw,nosuid shared:1 - tmpfs culvert-ab12 rw,mode=700"
    other = "30 1 0:27 /a/run /run rw,nosuid - tmpfs tmpfs rw"
    assert binding._mounted_run(f"{host}\n{other}\n") is None
    assert binding._mounted_run(f"{host}\n{node}\n") == "ab12"
