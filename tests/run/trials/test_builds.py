"""A trial of a build runs the programs of its directory, or gives no figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from culvert import tools
from culvert.results import Status
from culvert.run.trials.execution import Execution, of_build
from culvert.run.trials.finding import TrialFinding
from culvert.study.builds import BuildTable
from culvert.study.study import Study
from tests.run import fakes
from tests.run.fakes import Recorder, made, runner, statuses


@dataclass
class Runs:
    """An execution that only searches a program."""

    program: str

    def execute(self) -> TrialFinding:
        return TrialFinding(Status.OK, version=str(tools.find(self.program)))


@pytest.fixture
def build(tmp_path: Path) -> BuildTable:
    program = tmp_path / "vpnd"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return BuildTable(programs=str(tmp_path), commit="0123456789abcdef")


def test_its_version_begins_with_the_commit(build: BuildTable) -> None:
    finding = of_build(build, cast("Execution", Runs("vpnd")), "fake@x")
    assert finding.status is Status.OK
    assert finding.version == f"0123456789ab {build.programs}/vpnd"


def test_what_is_installed_does_not_count(build: BuildTable) -> None:
    finding = of_build(build, cast("Execution", Runs("sh")), "fake@x")
    assert finding.status is Status.FAILED
    assert build.programs in finding.reason
    assert finding.remedy


@pytest.mark.usefixtures("fake_drivers", "counting")
def test_the_runner_refuses_a_driver_without_programs(tmp_path: Path) -> None:
    text = fakes.study("fake/good", plan="blocks = 1").text.replace("fake/good", "fake/good@x")
    catalogue = replace(fakes.CATALOGUE, canonical_vpn=str)
    of = Study.parse(f'{text}[build.x]\nprograms = "{tmp_path}"\n', catalogue)
    with made(tmp_path, of) as journal:
        runner(of, journal, Recorder()).run()
        assert sorted(statuses(journal)) == ["failed", "ok"]
