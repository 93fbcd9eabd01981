"""Why a pod does not run, in words."""

from __future__ import annotations

from types import SimpleNamespace as Some
from typing import Any

from culvert.labs.kubernetes.pods import state


def pod(phase: str = "Pending", **fields: Any) -> Some:
    status = Some(
        phase=phase,
        pod_ip=fields.get("ip"),
        reason=fields.get("reason"),
        message=fields.get("message"),
        conditions=fields.get("conditions", []),
        container_statuses=fields.get("containers"),
    )
    metadata = Some(name="p", deletion_timestamp=fields.get("deleted"))
    return Some(status=status, metadata=metadata, spec=Some(node_name="n"))


def container(**states: Any) -> Some:
    return Some(state=Some(**{"running": None, "waiting": None, "terminated": None, **states}))


def test_a_pod_runs_when_it_has_an_address_and_a_container() -> None:
    assert state.running(pod("Running", ip="10.0.0.1", containers=[container(running=Some())]))
    assert not state.running(pod("Running", ip=None, containers=[container(running=Some())]))
    assert not state.running(pod("Running", ip="10.0.0.1", containers=[container()]))


def test_an_image_that_cannot_be_pulled() -> None:
    waiting = Some(reason="ErrImagePull", message="not found")
    failed = state.failure(pod(containers=[container(waiting=waiting)]))
    assert failed is not None
    assert str(failed) == "pod p on node n: ErrImagePull: not found"
    assert "culvert kubernetes image" in failed.remedy


def test_a_pod_that_ended_and_one_that_was_deleted() -> None:
    ended = Some(reason="OOMKilled", exit_code=137)
    failed = state.failure(pod("Failed", containers=[container(terminated=ended)]))
    assert "OOMKilled (exit code 137)" in str(failed)
    limit = state.failure(pod("Failed", reason="DeadlineExceeded", message="too long"))
    assert limit is not None
    assert limit.remedy == "the pod reached its time limit: resume the run"
    assert "was deleted" in str(state.failure(pod("Running", deleted="now")))
    assert state.failure(pod()) is None


class Events:
    """An API with these events."""

    def __init__(self, *events: Some) -> None:
        self.core = Some(list_namespaced_event=lambda *_, **__: Some(items=list(events)))

    def call_unless(self, _status: int, _what: str, request: Any, *args: Any, **fields: Any) -> Any:
        return request(*args, **fields)


def test_a_pod_that_is_never_scheduled() -> None:
    event = Some(type="Warning", reason="FailedScheduling", message="0/2 nodes are available")
    error = state.why_waiting(Events(event), "ns", pod())  # type: ignore[arg-type]
    assert str(error) == "pod p: FailedScheduling: 0/2 nodes are available"
    assert "--from" in error.remedy
    unready = Some(status="False", reason="Unschedulable", message="no room")
    error = state.why_waiting(Events(), "ns", pod(conditions=[unready]))  # type: ignore[arg-type]
    assert str(error) == "pod p: Unschedulable: no room"
