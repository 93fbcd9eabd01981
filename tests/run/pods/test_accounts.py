"""What the programs of a cluster's nodes used."""

from __future__ import annotations

from typing import Any, cast

import pytest

from culvert.errors import LabError, ProbeError
from culvert.labs.process import Usage
from culvert.probe.results import Accounted
from culvert.run.pods.accounts import MOST, Programs, Used, accounting, between, of_node


def test_processes_of_one_name_count_together() -> None:
    processes = [
        {"label": "node", "pid": 1, "comm": "shim", "run_ns": 10**9, "vm_hwm_bytes": 5},
        {"label": "node", "pid": 2, "comm": "shim", "run_ns": 2 * 10**9, "vm_hwm_bytes": 7},
        {"label": "node", "pid": 3, "comm": "gone", "run_ns": None},
    ]
    accounted = Accounted.model_validate({"seconds": 1.0, "cpus": [], "processes": processes})
    assert of_node(accounted) == {"shim": Used(3.0, 12)}


def test_threads_of_the_kernel_count_by_kind() -> None:
    """Kernel WireGuard encrypts in workers, which no process is the parent of."""
    threads = [
        {"comm": "kworker/0:1-wg-crypt-wg0", "pid": 20, "run_ns": 10**9},
        {"comm": "kworker/1:2-events", "pid": 21, "run_ns": 2 * 10**9},
        {"comm": "ksoftirqd/0", "pid": 9, "run_ns": 10**9},
        {"comm": "ksoftirqd/1", "pid": 10, "run_ns": None},
    ]
    given = {"seconds": 1.0, "cpus": [], "kernel_threads": threads}
    found = of_node(Accounted.model_validate(given))
    assert found == {"kworker": Used(3.0, 0), "ksoftirqd": Used(1.0, 0)}
    names = [metric.name for metric in Programs({"a": found}).metrics()]
    assert names == ["cpu_process_s"] * 2


def test_what_was_not_looked_at_is_withheld_with_the_reason() -> None:
    (withheld,) = Programs().withheld()
    assert "cpu_process_s" in withheld.metrics
    assert "--prove" in withheld.reason
    assert Programs({"a": {"felix": Used(1.0, 1)}}).withheld() == []


def test_a_program_that_was_started_meanwhile_has_no_figure() -> None:
    before = {("a", "felix"): Usage(10**9, 0, 0, 5)}
    after = {("a", "felix"): Usage(3 * 10**9, 0, 0, 9), ("a", "new"): Usage(10**9, 0, 0, 1)}
    assert between(before, after) == {"a": {"felix": Used(2.0, 9)}}


def test_those_that_used_most_are_reported() -> None:
    programs = Programs({"a": {f"p{number}": Used(float(number), 1) for number in range(20)}})
    metrics = programs.metrics()
    assert len(metrics) == 2 * MOST
    assert metrics[0].labels == {"node": "a", "process": "p19"}


class Observing:
    """An observer, its probe and the one task of it."""

    def __init__(self, node: str, *, dead: bool = False) -> None:
        self.node = node
        self.probe = self
        self.goes_on = False
        self._dead = dead

    def begin(self, task: str, **parameters: Any) -> Observing:
        del task, parameters
        self.goes_on = True
        return self

    def ready(self) -> None:
        assert self.goes_on

    def stop(self, timeout_s: float) -> dict[str, Any]:
        del timeout_s
        self.goes_on = False
        if self._dead:
            raise ProbeError("probe", "it ended", "see its log")
        return {"seconds": 1.0, "cpus": []}

    def usage(self) -> dict[tuple[str, str], Usage]:
        return {}


def test_after_an_error_no_observer_goes_on_accounting() -> None:
    observers = [Observing("a", dead=True), Observing("b")]
    with (
        pytest.raises(LabError, match="pod: it was deleted"),
        accounting(cast("Any", observers[0]), cast("Any", observers)),
    ):
        raise LabError("pod", "it was deleted", "repeat")
    assert not any(one.goes_on for one in observers)
