"""The criteria of meshes with relays, by their tests, on two VPNs with known answers."""

from __future__ import annotations

import pytest

from culvert.features.verify.paths import (
    HolePunching,
    RelayBehindNats,
    RelayWithoutUdp,
    UnattendedJoin,
)
from culvert.features.verify.policy import PermittedPort
from culvert.features.verify.run import verified
from tests.run.cells import vpn
from tests.vpns.tunnels import skip_reason

pytestmark = [pytest.mark.lab, pytest.mark.vpn, pytest.mark.long]
TESTS = (HolePunching, RelayBehindNats, RelayWithoutUdp, UnattendedJoin, PermittedPort)
ALL = {test.name: True for test in TESTS}
EXPECTED = {
    "headscale/direct": ALL,
    # Its relay is reached by UDP.
    "nebula/aes+fallback": {**ALL, RelayWithoutUdp.name: False},
}


@pytest.mark.parametrize("word", EXPECTED)
def test_each_criterion_has_the_known_answer(word: str) -> None:
    if why_not := skip_reason(word):
        pytest.skip(why_not)
    found = list(verified(lambda: vpn(word), TESTS))
    assert {one.test: one.holds for one in found} == EXPECTED[word], [one.detail for one in found]
