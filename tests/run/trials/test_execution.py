"""A trial on hosts that are lost: what does not need them is measured, now or when resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import pytest

from culvert.errors import CulvertError, HostLost, NotPossible, VpnError
from culvert.journal.record import Part
from culvert.measurements.base import BaseParameters
from culvert.results import Metric, Status
from culvert.run.trials.attempt import Attempt, OnePath
from culvert.run.trials.execution import Earlier, Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.topology.graph import Path, Topology
from culvert.topology.shapes import mesh, pair, star
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.vpns.none import NoVpn
from tests.run.fakes import Count

PAIRS = mesh(6, paths=[Path("a", "b"), Path("c", "d"), Path("e", "f")])
SILENT = HostLost("host b", "is silent", "look at it")
VALUES = {"a>b": 1.0, "c>d": 2.0, "e>f": 6.0}


class Joins(Count):
    """Makes all members join."""

    joins_members: ClassVar[bool] = True


class Tries:
    """Attempts in which each path is measured, unless a node is lost before its turn."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *lost: Mapping[str, CulvertError]) -> None:
        self.left: list[list[str]] = []
        self._lost = list(lost)
        self.fails: CulvertError | None = None
        """Of the last attempt."""
        monkeypatch.setattr(Attempt, "run", self._run_of())

    def _run_of(tries) -> Any:  # noqa: N805 - the attempt is self
        def run(self: Attempt) -> None:
            topology = self._spec.present.topology
            tries.left.append([str(path) for path in topology.paths])
            self.lost |= tries._lost.pop(0) if tries._lost else {}
            for path in topology.paths:
                proved = TrialFinding(Status.OK)
                proved.evidence.checks.append(Check(f"proved ({path})", passed=True, detail=""))
                if {path.source, path.target} & {*self.lost}:
                    self.finding.fails(self.lost[({path.source, path.target} & {*self.lost}).pop()])
                    self.finding.evidence.checks.append(Check("broken", passed=False, detail=""))
                    return
                if tries.fails is not None and not tries._lost:
                    self.finding.fails(tries.fails)
                    return
                figure = Metric("count", "1", VALUES.get(str(path), 0.0))
                self.measured.append(OnePath(path, proved, Outcome([figure], [])))
            self.finding.status = Status.OK

        return run


def executed(
    topology: Topology = PAIRS, earlier: Earlier | None = None, kind: type[Count] = Count
) -> TrialFinding:
    driver = NoVpn(NoVpn.variants[0])
    spec = LabSpec(topology=topology)
    make_lab = cast("Any", None)
    return Execution(
        driver, spec, kind(), BaseParameters(), Tunnels(make_lab), earlier or Earlier()
    ).execute()


def figures(finding: TrialFinding) -> dict[str, float]:
    return {metric.labels.get("path", ""): metric.value for metric in finding.outcome.metrics}


def part_of(finding: TrialFinding) -> Part:
    assert finding.part is not None
    return Part(finding.part.evidence.part, tuple(finding.part.outcome.metrics))


def test_paths_that_do_not_need_a_lost_host_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Tries(monkeypatch, {"b": SILENT})
    finding = executed()
    assert tries.left == [["a>b", "c>d", "e>f"], ["c>d", "e>f"]]
    assert finding.status is Status.FAILED
    assert finding.evidence.host_lost
    assert finding.reason == (
        "host b: is silent; paths that were not measured: a>b; "
        "figures of the others are kept by path"
    )
    assert finding.evidence.missing_paths == ("a>b",)
    assert finding.remedy == "look at it"
    assert dict(finding.lost) == {"b": SILENT}
    part = finding.part
    assert part is not None
    assert (part.status, part.evidence.part) == (Status.OK, ("c>d", "e>f"))
    assert part.evidence.proved
    assert not part.evidence.host_lost
    # No figure is without its path: the median over all paths is not known yet.
    assert figures(part) == {"c>d": 2.0, "e>f": 6.0}


def test_what_was_measured_before_the_loss_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    lost: Sequence[Mapping[str, CulvertError]] = ({"f": SILENT}, {})
    tries = Tries(monkeypatch, *lost)
    finding = executed()
    assert tries.left == [["a>b", "c>d", "e>f"]]
    assert part_of(finding).paths == ("a>b", "c>d")


def test_a_resumed_trial_measures_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    Tries(monkeypatch, {"b": SILENT})
    part = part_of(executed())
    tries = Tries(monkeypatch)
    finding = executed(earlier=Earlier([part]))
    assert tries.left == [["a>b"]]
    assert (finding.status, finding.part, finding.evidence.host_lost) == (Status.OK, None, False)
    assert figures(finding) == {"a>b": 1.0, "": 2.0}


def test_a_host_that_is_still_lost_leaves_the_place_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a reason that makes other trials unsupported: what was measured is completed."""
    Tries(monkeypatch, {"b": SILENT})
    part = part_of(executed())
    no_sudo = NotPossible("host b", "there is no sudo", "install it")
    Tries(monkeypatch, {"b": no_sudo})
    finding = executed(earlier=Earlier([part]))
    assert (finding.status, finding.part) == (Status.UNSUPPORTED, None)
    assert finding.evidence.host_lost
    assert "host b: there is no sudo" in finding.reason


def test_a_host_known_to_be_lost_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Tries(monkeypatch)
    finding = executed(earlier=Earlier(lost={"b": SILENT}))
    assert tries.left == [["c>d", "e>f"]]
    assert finding.reason.startswith("host b: is silent")
    assert part_of(finding).paths == ("c>d", "e>f")


@pytest.mark.parametrize(
    ("topology", "lost"),
    [(pair(), "b"), (star(3, every_path=True), "gateway")],
)
def test_what_every_path_needs_fails_the_trial(
    monkeypatch: pytest.MonkeyPatch, topology: Topology, lost: str
) -> None:
    tries = Tries(monkeypatch, {lost: SILENT})
    finding = executed(topology)
    assert len(tries.left) == 1
    assert (finding.status, finding.reason) == (Status.FAILED, "host b: is silent")
    assert finding.evidence.host_lost
    assert finding.part is None


def test_a_measurement_of_all_members_needs_all(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Tries(monkeypatch, {"b": SILENT})
    finding = executed(kind=Joins)
    assert len(tries.left) == 1
    assert finding.evidence.host_lost
    assert finding.part is None
    assert not executed(earlier=Earlier(lost={"b": SILENT}), kind=Joins).part
    assert len(tries.left) == 1


def test_a_trial_that_fails_without_the_lost_host_is_repeated_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = Tries(monkeypatch, {"b": SILENT})
    tries.fails = VpnError("vpn", "does not come up", "see its log")
    finding = executed()
    assert tries.left[-1] == ["c>d", "e>f"]
    assert finding.reason == "host b: is silent; vpn: does not come up"
    assert finding.remedy == "look at it; see its log"
    assert (finding.evidence.host_lost, dict(finding.lost)) == (True, {})


def test_a_failure_without_a_lost_host_is_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = Tries(monkeypatch)
    tries.fails = VpnError("vpn", "does not come up", "see its log")
    finding = executed()
    assert len(tries.left) == 1
    assert (finding.reason, finding.evidence.host_lost) == ("vpn: does not come up", False)
