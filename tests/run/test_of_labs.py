"""Conditions that only some labs have."""

from __future__ import annotations

import pytest

from culvert.labs.registry import lab_kind
from culvert.plan.plan import Plan
from culvert.run.request import RunRequest
from culvert.study.study import Study


def prepared(study: str, lab: str, scale: str = "") -> tuple[Study, Plan]:
    given = {"inventory": "hosts.yml"} if lab == "hosts" else {}
    kind = lab_kind(lab)(given)
    request = RunRequest(study, None, resume=False, lab=kind, only=(), scale=scale)
    found, plan, _ = request.prepared()
    return found, plan


@pytest.mark.parametrize(
    ("study", "condition", "scale"), [("mackey2020", "aws", "aws"), ("phanhai", "router", "router")]
)
def test_a_real_machine_is_for_hosts_and_elsewhere_the_remedy_names_them(
    study: str, condition: str, scale: str
) -> None:
    found, plan = prepared(study, "netns")
    assert {cell.condition for cell in plan.absent} == {condition}
    reason = found.lacking.reason("none", condition, "tcp")
    assert reason == f"{condition}: it needs the lab hosts"
    assert found.lacking.remedy == "run it with --lab hosts"
    _, plan = prepared(study, "hosts", scale)
    assert plan.cells
    assert not plan.absent
    assert {cell.condition for cell in plan.cells} == {condition}
