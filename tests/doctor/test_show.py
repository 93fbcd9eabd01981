"""What a user sees, and what a program reads."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from culvert.doctor.examine import ready
from culvert.doctor.show import as_json, render
from culvert.machine.check import FeatureCheck, FeatureGroup, FeatureStatus

NEEDED = (
    "root",
    "capabilities",
    "network-namespaces",
    "mount-namespaces",
    "veth",
    "capture",
    "culvert-probe",
)


def make(
    name: str, status: FeatureStatus = FeatureStatus.PRESENT, group: FeatureGroup = FeatureGroup.LAB
) -> FeatureCheck:
    remedy = None if status is FeatureStatus.PRESENT else f"fix {name} [now]"
    return FeatureCheck(name, group, status, ("some [VPN]",), f"about {name}", remedy)


def text_of(checks: list[FeatureCheck]) -> str:
    console = Console(file=io.StringIO(), width=160, force_terminal=False)
    console.print(render(checks))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_what_is_missing_stands_there_with_its_remedy() -> None:
    checks = [make(name) for name in NEEDED] + [
        make("netem", FeatureStatus.MISSING, FeatureGroup.IMPAIRMENT)
    ]
    text = text_of(checks)

    assert "fix netem [now]" in text, "brackets are text, not markup"
    assert "some [VPN]" in text
    assert "7 present, 1 missing. This machine can run the default lab." in text


@pytest.mark.parametrize("broken", NEEDED)
@pytest.mark.parametrize("status", [FeatureStatus.MISSING, FeatureStatus.UNKNOWN])
def test_a_machine_is_ready_only_with_all_that_the_lab_needs(
    broken: str, status: FeatureStatus
) -> None:
    checks = [make(name, status if name == broken else FeatureStatus.PRESENT) for name in NEEDED]

    assert not ready(checks)
    assert "cannot run" in text_of(checks)
    assert as_json(checks)["ready"] is False


def test_json_has_the_fields_of_a_check() -> None:
    checks = [make(name) for name in NEEDED] + [
        make("fq", FeatureStatus.MISSING, FeatureGroup.IMPAIRMENT)
    ]
    answer = json.loads(json.dumps(as_json(checks)))

    assert answer["ready"] is True
    assert answer["checks"][-1] == {
        "name": "fq",
        "group": "impairments",
        "status": "missing",
        "needed_by": ["some [VPN]"],
        "detail": "about fq",
        "remedy": "fix fq [now]",
    }
