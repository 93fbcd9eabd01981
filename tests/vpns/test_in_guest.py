"""The tests of kernel VPNs in a guest kernel, where this machine's own kernel lacks something."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.labs.guest import guest
from culvert.labs.vm.build import built
from tests.guests import pass_in_a_guest

from .kernel.test_tunnels import PLAIN
from .tunnels import skip_reason

DEADLINE_S = 900
"""A few minutes on two cores, of which a guest has one."""
VPNS = ("wireguard or openvpn", "strongswan", "xfrm", "gre")
"""One boot each: a test that wants the machine alone waits for the end of the one that runs."""
FOLDER = Path(__file__).parent / "kernel"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.guest,
    pytest.mark.timeout(DEADLINE_S + 20),
    pytest.mark.skipif(built() is None, reason="no guest kernel: culvert vm build"),
    pytest.mark.skipif(guest() is not None, reason="this is the guest"),
]


@pytest.fixture(autouse=True)
def _where_the_kernel_lacks_something() -> None:
    if not any(skip_reason(word) for word in PLAIN):
        pytest.skip("this machine's kernel has all that they need: they were tested on it")


@pytest.mark.parametrize("selected", [*VPNS, " and ".join(f"not ({each})" for each in VPNS)])
def test_kernel_vpns_in_a_guest(selected: str) -> None:
    pass_in_a_guest(FOLDER / "test_tunnels.py", selected=selected, deadline_s=DEADLINE_S)


@pytest.mark.long
@pytest.mark.parametrize("selected", VPNS)
def test_their_rounds_in_a_guest(selected: str) -> None:
    pass_in_a_guest(FOLDER / "test_rounds.py", selected=selected, deadline_s=DEADLINE_S)
