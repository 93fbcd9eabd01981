"""A runner over fake drivers."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.results import Metric, Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.trial.outcome import Outcome
from tests.run.fakes import REGISTRY


@pytest.fixture
def fake_drivers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path / "tools"))
    monkeypatch.setattr("culvert.vpns.registry.installed", lambda: REGISTRY)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every trial of none and fake/good counts; the others do as they do. The order of trials."""
    order: list[str] = []
    execute = Execution.execute

    def counted(self: Execution) -> TrialFinding:
        vpn = self._vpn
        order.append(vpn.id)
        if vpn.id not in ("none", "fake/good"):
            return execute(self)
        metric = Metric("count", "1", float(len(order)))
        return TrialFinding(Status.OK, measuring_s=0.5, outcome=Outcome([metric], []))

    monkeypatch.setattr(Execution, "execute", counted)
    return order
