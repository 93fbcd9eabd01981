"""Twenty members of a mesh VPN join at once, and each pair has its route."""

from __future__ import annotations

import pytest

from culvert.measurements.mesh.convergence import Convergence
from culvert.results import Status
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from tests.quiet import ATTEMPTS, OF_THE_MACHINE
from tests.run.cells import measure, value, vpn
from tests.vpns.tunnels import skip_reason

MEMBERS = 20
PAIRS = MEMBERS * (MEMBERS - 1) // 2


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.long
@pytest.mark.flaky(reruns=ATTEMPTS - 1, only_rerun=list(OF_THE_MACHINE))
@pytest.mark.parametrize("word", ["headscale/direct", "nebula/aes"])
def test_twenty_members_converge(word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    finding = measure(vpn(word), Convergence(), {}, LabSpec(topology=mesh(MEMBERS)))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert (value(finding, "members"), value(finding, "pairs")) == (MEMBERS, PAIRS)
    assert value(finding, "direct_pairs") == PAIRS
    assert value(finding, "joined_s") <= value(finding, "routed_s")
