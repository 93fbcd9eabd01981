"""A trial on a host that cannot be used: it fails, or is not possible there."""

from __future__ import annotations

import pytest

from culvert.errors import CulvertError, HostLost, NotPossible
from culvert.labs.base import Lab
from culvert.measurements.base import BaseParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.topology.spec import LabSpec
from culvert.vpns.none import NoVpn
from tests.run.fakes import Count


@pytest.mark.parametrize(
    ("error", "status", "repeated"),
    [
        (HostLost("host b", "is silent", "look at it"), Status.FAILED, True),
        (NotPossible("host b", "has no sudo", "install it"), Status.UNSUPPORTED, False),
    ],
)
def test_a_host_that_cannot_be_used_decides(
    error: CulvertError, status: Status, repeated: bool
) -> None:
    def no_lab(spec: LabSpec) -> Lab:
        raise error

    driver = NoVpn(NoVpn.variants[0])
    found = Execution(driver, LabSpec(), Count(), BaseParameters(), Tunnels(no_lab)).execute()
    assert (found.status, found.evidence.host_lost) == (status, repeated)
    assert (found.reason, found.remedy) == (str(error), error.remedy)
    assert not found.outcome.metrics
