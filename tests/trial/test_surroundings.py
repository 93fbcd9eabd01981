"""What disturbs a trial, and from where on it is marked."""

from __future__ import annotations

from typing import Any

import pytest

from culvert.journal.marks import Disturber, Mark, marks_of
from culvert.probe.results import Accounted
from culvert.probe.results.accounting import Interference, Meddling
from culvert.runid import new_run_id
from culvert.trial.accounting import KERNEL, OTHERS, OWN, foreign_s, sees_the_machine
from culvert.trial.check import Evidence
from culvert.trial.outcome import Outcome
from culvert.trial.surroundings import add_surroundings


def node(steal_s: float = 0.0, foreign: float | None = None, **disturbance: Any) -> Accounted:
    cpus = [{"cpu": n, "user_s": 1.0, "system_s": 0.0, "steal_s": steal_s / 2} for n in (0, 1)]
    given = {"seconds": 10.0, "cpus": cpus, "foreign_s": foreign, "disturbance": disturbance}
    return Accounted.model_validate(given)


def under_quota(lost_s: float, group: str) -> Accounted:
    """Its VPN and probe were both without a processor for that time, of 20 s."""
    episode = {
        "kind": Meddling.THROTTLED_TOGETHER,
        **{"subject": {"process": {"label": "vpn", "pid": 7}}, "detail": group},
        **{"start_ns": 1, "lasted_ns": round(lost_s * 1e9)},
    }
    sizes = dict.fromkeys(
        ("started_ns", "processes", "devices", "looks", "longest_gap_ns", "cpu_ns"), 1
    )
    observed = Interference.model_validate({**sizes, "episodes": [episode]})
    return node().model_copy(update={"interference": observed})


def surroundings_of(accounted: dict[str, Accounted], *, shared_kernel: bool) -> Outcome:
    outcome = Outcome([], [])
    add_surroundings(outcome, accounted, shared_kernel=shared_kernel)
    return outcome


def found(one: Accounted) -> tuple[dict[str, float], list[Disturber]]:
    around = surroundings_of({"a": one, "b": one}, shared_kernel=True)
    return {m.name: m.value for m in around.metrics}, [mark.by for mark in around.marks]


def process(label: str, pid: int, run_s: float | None, **more: Any) -> dict[str, Any]:
    run_ns = None if run_s is None else round(run_s * 1e9)
    return {"label": label, "pid": pid, "run_ns": run_ns, **more}


def everybody(*processes: dict[str, Any]) -> Accounted:
    return Accounted.model_validate({"seconds": 1.0, "cpus": [], "processes": processes})


def test_a_quiet_trial_has_no_mark_and_figures_all_the_same() -> None:
    figures, marks = found(node(foreign=0.1))
    assert figures == {"cpu_other_processes_s": 0.1, "clock_step_us": 0.0}
    assert not marks


@pytest.mark.parametrize(
    ("one", "by"),
    [
        (node(foreign=1.1), Disturber.FOREIGN),  # of 20 s
        (node(steal_s=0.5), Disturber.STEAL),
        (node(clock_step_ns=-2_000_000), Disturber.CLOCK),
        (node(throttled=1), Disturber.HEAT),
        (under_quota(0.5, "/box"), Disturber.QUOTA),
    ],
)
def test_each_disturber_marks_beyond_its_bound(one: Accounted, by: Disturber) -> None:
    assert found(one)[1] == [by]


def test_the_quota_that_a_condition_requests_is_no_disturbance() -> None:
    assert not found(under_quota(9.0, f"/culvert-{new_run_id()}-a"))[1]
    assert not found(under_quota(0.1, "/box"))[1]


def test_other_programs_are_looked_at_on_each_kernel() -> None:
    accounted = {"a": node(foreign=0.2), "b": node(foreign=1.1)}
    around = surroundings_of(accounted, shared_kernel=False)
    used = {m.labels["node"]: m.value for m in around.metrics if m.name == "cpu_other_processes_s"}
    assert used == {"a": 0.2, "b": 1.1}
    (mark,) = around.marks
    assert mark.by is Disturber.FOREIGN
    assert mark.value == pytest.approx(0.055)


def test_what_cannot_be_seen_has_no_figure() -> None:
    figures, marks = found(node())
    assert "cpu_other_processes_s" not in figures
    assert "cpu_throttled" not in figures
    assert not marks


def test_two_kernels_have_twice_the_room() -> None:
    stolen, quiet = node(steal_s=0.5), node()
    around = surroundings_of({"a": stolen, "b": quiet}, shared_kernel=False)
    assert not around.marks
    assert surroundings_of({"a": stolen, "b": quiet}, shared_kernel=True).marks


def test_frequencies_are_named_by_node_and_cpu() -> None:
    around = surroundings_of({"a": node(frequency_hz={1: 3_000_000_000})}, shared_kernel=True)
    frequency = next(m for m in around.metrics if m.name == "core_frequency_hz")
    assert frequency.labels == {"node": "machine", "cpu": "1"}


def test_foreign_time_is_that_of_others_and_of_children_that_ended() -> None:
    shell = process(OTHERS, 10, 0.5, children_s=3.0)
    compiler = process(OTHERS, 11, None, died=True, used_before_ns=1_000_000_000)
    ours = [process(OWN, 12, 9.0), process(KERNEL, 2, 9.0), process(OTHERS, 13, 9.0)]
    all_of_them = everybody(shell, compiler, *ours)
    assert foreign_s(all_of_them, frozenset({13})) == pytest.approx(2.5)
    assert sees_the_machine(all_of_them)
    assert not sees_the_machine(everybody(shell))


def test_marks_are_in_the_evidence_and_the_trial_stays_proved_or_not() -> None:
    evidence = Evidence(marks=[Mark(Disturber.FOREIGN, 0.2, 0.05)])
    written = evidence.as_json()["marks"]
    assert written == [{"by": "foreign CPU time", "value": 0.2, "bound": 0.05}]
    assert "marks" not in Evidence().as_json()
    assert marks_of(evidence.as_json()) == tuple(evidence.marks)
    assert marks_of({"marks": [{"by": "a comet", "value": 1, "bound": 0}]}) == ()
