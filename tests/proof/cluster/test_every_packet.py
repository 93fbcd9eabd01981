"""One clear packet among thousands of encrypted ones, beside a measurement between pods."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from culvert.topology.link.spec import LinkSpec
from tests.proof.planted import CLEAR, HEADERS, LOAD, observed, send
from tests.trial.test_strangers import opened

VPN = "wireguard/go"


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize("link", [LinkSpec(kind="veth"), LinkSpec(offloads=True)])
def test_one_packet_is_found(link: LinkSpec) -> None:
    with ExitStack() as stack:
        session = opened(stack, VPN, link)
        honest = observed(session, LOAD)
        assert [check.passed for check in honest.checks] == [True, True]
        (seen,) = honest.seen
        assert seen.captured.packets < sum(LOAD) < seen.captured.searched_packets
        for name, clear in CLEAR.items():
            packet = HEADERS[VPN] + clear(session.canary)
            found = observed(session, LOAD, send(session, packet, 1))
            assert [each.captured.canary_hits for each in found.seen] == [1], name
            assert [check.passed for check in found.checks] == [False, True], name
