"""Parts of a study that only a cluster has."""

from __future__ import annotations

import pytest

from culvert.labs.registry import lab_kind
from culvert.plan.plan import Plan
from culvert.run.request import REMEDY, RunRequest


def absent(study: str, lab: str) -> set[tuple[str, str]]:
    """VPN and measurement of the cells that are expected to be missing."""
    _, plan, _ = request(study, lab)
    return {(cell.vpn, cell.measurement) for cell in plan.absent}


def request(study: str, lab: str) -> tuple[object, Plan, object]:
    return RunRequest(study, None, resume=False, lab=lab_kind(lab)({}), only=()).prepared()


def test_elsewhere_the_papers_api_and_second_baseline_are_missing() -> None:
    missing = absent("kjorveziroski2024", "netns")
    assert ("none/mtu-1450", "tcp") in missing
    assert ("headscale/direct", "k8s_api") in missing
    assert ("headscale/direct", "tcp") not in missing


def test_in_a_cluster_nothing_is_missing() -> None:
    assert absent("kjorveziroski2024", "kubernetes") == set()


@pytest.mark.parametrize(("study", "changed"), [("kjorveziroski2024", True), ("quick", False)])
def test_the_remedy_names_the_lab(study: str, changed: bool) -> None:
    found, _, _ = RunRequest(
        study, None, resume=False, lab=lab_kind("netns")({}), only=()
    ).prepared()
    assert (found.lacking.remedy == REMEDY) is changed
