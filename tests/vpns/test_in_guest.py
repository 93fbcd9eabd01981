"""The tests of kernel VPNs in a guest kernel, where this machine's own kernel lacks something."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from culvert.labs.vm.build import built
from culvert.labs.vm.inside import guest
from tests.guests import pass_in_a_guest

from .kernel.test_tunnels import PLAIN
from .tunnels import skip_reason

DEADLINE_S = 900
"""Under five minutes on two cores: a guest has one, so each file has a guest of its own."""


@pytest.mark.slow
@pytest.mark.timeout(DEADLINE_S + 20)
@pytest.mark.guest
@pytest.mark.skipif(built() is None, reason="no guest kernel: culvert vm build")
@pytest.mark.skipif(guest() is not None, reason="this is the guest")
def test_kernel_vpns_in_a_guest() -> None:
    if not any(skip_reason(word) for word in PLAIN):
        pytest.skip("this machine's kernel has all that they need: they were tested on it")
    files = sorted((Path(__file__).parent / "kernel").glob("test_*.py"))
    with ThreadPoolExecutor() as guests:
        passed = [guests.submit(pass_in_a_guest, file, deadline_s=DEADLINE_S) for file in files]
    for each in passed:
        each.result()
