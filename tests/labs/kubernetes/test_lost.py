"""What a lost run leaves in a cluster: found, and removed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from culvert.labs.kubernetes.api.refusal import ApiError, Http
from culvert.labs.kubernetes.embedded.cluster import EmbeddedCluster
from culvert.labs.kubernetes.pods import lost, manifests, namespaces
from culvert.labs.kubernetes.pods.lost import Controller, RunHere
from culvert.labs.kubernetes.pods.workspace import Options, Workspace
from culvert.waiting import wait_until
from tests.labs.kubernetes.ended import ended_process

ELSEWHERE = Controller(1, 1, "another-boot", 1)
OPTIONS = Options(image="culvert.local/probe:0")
LOST, NEXT = "10571a", "10572a"
THEIRS = "a-users"
OPEN = "the run is open"
CONTROLLER = f"""
import sys, time
from pathlib import Path
from culvert.labs.kubernetes.api.client import Api
from culvert.labs.kubernetes.pods.manifests import PodPlan
from culvert.labs.kubernetes.pods.workspace import Options, Workspace

place = Workspace(Api.of(Path(sys.argv[1])), "{LOST}", Options("image:1", sys.argv[2] or None))
place.open()
place.make_service("target", {{"a": "b"}})
place.start(PodPlan("p", "paper", "image:1", "{LOST}", owner=place.owner))
place.start(PodPlan("q", "paper", "image:1", "{LOST}", host_network=True))
print("{OPEN}", flush=True)
time.sleep(600)
"""


def run(controller: Controller | None, expires_s: float) -> RunHere:
    return RunHere("abc123", ("culvert-abc123",), "culvert-abc123", controller, expires_s)


def test_the_text_of_a_controller_is_read_again() -> None:
    me = Controller.this()
    assert Controller.parse(str(me)) == me
    assert me.lives() is True
    for text in ("", "1.2", "PROCESS", "1.2.boot.x", "x.2.boot.3"):
        assert Controller.parse(text) is None


def test_a_controller_of_this_machine_is_lost_when_its_process_has_ended() -> None:
    dead = ended_process()
    assert dead.lives() is False
    assert run(dead, time.time() + 1000).lost
    assert not run(Controller.this(), 0.0).lost


def test_a_controller_elsewhere_is_lost_long_after_its_last_pod() -> None:
    assert ELSEWHERE.lives() is None
    now = time.time()
    for controller in (ELSEWHERE, None):
        assert not run(controller, now - lost.SLACK_S / 2).lost
        assert run(controller, now - lost.SLACK_S - 1).lost


def test_in_a_container_of_this_machine_processes_have_other_numbers() -> None:
    me = Controller.this()
    assert replace(me, processes=me.processes + 1).lives() is None


def test_one_that_this_user_may_not_remove_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with --namespace may list the namespaces of the cluster, and delete none."""
    refused = []

    def delete(what: str, *_: object) -> None:
        refused.append(what)
        raise ApiError(what, "is forbidden", "ask for it", Http.FORBIDDEN)

    api = SimpleNamespace(delete=delete, core=SimpleNamespace(delete_namespace=None))
    monkeypatch.setattr(lost, "runs_in", lambda *_: [run(ended_process(), 0.0)])
    place = Workspace(api, NEXT, replace(OPTIONS, namespace=THEIRS))  # type: ignore[arg-type]
    monkeypatch.setattr(place, "require_rights", lambda: None)
    monkeypatch.setattr(place, "_open", lambda: None)
    place.open()
    assert refused == ["namespace culvert-abc123"]
    with pytest.raises(ApiError, match="is forbidden"):  # `culvert clean` says so
        lost.remove_lost(place.api, THEIRS)


@pytest.fixture(scope="session")
def theirs(server: EmbeddedCluster) -> str:
    """A namespace of the user's; it ends with the cluster."""
    made = namespaces.make(server.api, {"metadata": {"name": THEIRS}})
    namespaces.await_account(server.api, made)
    return made


def kubeconfig(server: EmbeddedCluster) -> Path:
    return server.plane.node.at.write("lost/admin.kubeconfig", server.plane.kubeconfig, secret=True)


def killed(server: EmbeddedCluster, namespace: str) -> None:
    """A run whose controller was killed (SIGKILL)."""
    argv = [sys.executable, "-c", CONTROLLER, str(kubeconfig(server)), namespace]
    process = server.plane.node.at.spawn(argv, name="controller", env=dict(os.environ))
    wait_until(
        lambda: OPEN in process.log_text() or not process.alive(), what="the run", deadline_s=30
    )
    assert process.alive(), process.log_text()
    found = {each.run_id: each.lost for each in lost.runs_in(server.api, namespace or None)}
    assert found[LOST] is False
    process.stop(grace_s=0)


def left(server: EmbeddedCluster) -> list[str]:
    """Namespaces of Culvert's, and what of it is in the user's."""
    core, label = server.api.core, f"{manifests.MANAGED}={manifests.MANAGER}"
    found = [
        *core.list_namespace(label_selector=label).items,
        *core.list_namespaced_pod(THEIRS, label_selector=label).items,
        *core.list_namespaced_service(THEIRS, label_selector=label).items,
        *core.list_namespaced_config_map(THEIRS, label_selector=label).items,
    ]
    return sorted(each.metadata.name for each in found)


@pytest.mark.lab
@pytest.mark.slow
def test_the_next_run_removes_what_a_killed_one_left_in_a_users_namespace(
    server: EmbeddedCluster, theirs: str
) -> None:
    killed(server, theirs)
    assert f"culvert-{LOST}-nodes" in left(server)
    with Workspace(server.api, NEXT, replace(OPTIONS, namespace=theirs)):
        wait_until(
            lambda: left(server) == [f"culvert-{NEXT}"],
            what=f"the removal of {left(server)}",
            deadline_s=30,
        )
    assert left(server) == []


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.usefixtures("killing")
def test_clean_removes_it_and_a_run_that_goes_on_stays(
    server: EmbeddedCluster, theirs: str
) -> None:
    with Workspace(server.api, NEXT, OPTIONS):
        killed(server, theirs)
        printed = clean(server, theirs)
        assert f"culvert-{LOST}-nodes" in printed
        assert f"{theirs}/culvert-{LOST}" in printed
        wait_until(lambda: left(server) == [f"culvert-{NEXT}"], what="the collector", deadline_s=30)
    assert "culvert-" not in clean(server, theirs)


def clean(server: EmbeddedCluster, namespace: str) -> str:
    """The command in the network of the control plane, with the machine's files: it has to see who
    owns the machine's other runs."""
    culvert = str(Path(sys.executable).parent / "culvert")
    enter = ["nsenter", "--target", str(server.plane.node.pid), "--net"]
    argv = [culvert, "clean", "--kubeconfig", str(kubeconfig(server)), "--namespace", namespace]
    return subprocess.run([*enter, *argv], capture_output=True, text=True, check=True).stdout
