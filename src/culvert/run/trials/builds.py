"""A trial of a build: the programs of its directory, or no figures."""

from __future__ import annotations

from culvert import tools
from culvert.errors import VpnError
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.study.builds import BuildTable

_COMMIT_DIGITS = 12


def of_build(build: BuildTable, execution: Execution, vpn: str) -> TrialFinding:
    """The trial with the build's programs; its version begins with the commit.

    Failed if the VPN used none of them: it would measure what is installed.
    """
    with tools.preferring(build.directory) as preferred:
        finding = execution.execute()
    if not preferred.used and finding.status is Status.OK:
        unused = VpnError(
            vpn,
            f"it runs no program from {build.directory}",
            "give the directory that has the VPN's programs, under the names that it looks for",
        )
        return TrialFinding.of_error(unused)
    finding.version = f"{build.commit[:_COMMIT_DIGITS]} {finding.version}".strip()
    return finding
