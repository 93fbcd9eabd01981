"""What the links of a star carry together."""

from __future__ import annotations

import pytest

from culvert.measurements.ceiling import held_back
from culvert.measurements.gateway.star import together
from culvert.proof.known import KnownPath
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import CORE, GATEWAY, star
from culvert.topology.spec import LabSpec

CLIENTS = 4
CLIENT_BPS, GATEWAY_BPS = 100_000_000, 20_000_000


def known() -> KnownPath:
    """The condition limits what leaves the gateway, and not what reaches it."""
    slow = Impairment(OneWay(rate_bps=GATEWAY_BPS), OneWay())
    spec = LabSpec(
        link=LinkSpec("wire", rate_bps=CLIENT_BPS, mtu=1400),
        links={f"{GATEWAY}-{CORE}": LinkSpec("wire", CLIENT_BPS, 1400, impairment=slow)},
        topology=star(CLIENTS),
    )
    path = spec.topology.paths[0]
    return KnownPath(spec, path, spec.path_link(path), bare=True)


@pytest.mark.parametrize(
    ("clients", "upward", "past", "line_bps"),
    [
        (4, True, False, CLIENT_BPS),  # the gateway's link
        (4, False, False, GATEWAY_BPS),
        (2, True, True, 2 * CLIENT_BPS),  # to each other
        (4, False, True, 4 * CLIENT_BPS),
    ],
)
def test_many_clients_share_the_gateways_link(
    clients: int, line_bps: int, *, upward: bool, past: bool
) -> None:
    line_pps = together(known(), clients, past=past).packets_per_s([1400], upward=upward)
    assert line_pps is not None
    assert line_pps == pytest.approx(line_bps / (8 * 1414))
    assert held_back(line_pps, line_pps)
    assert not held_back(0.6 * line_pps, line_pps)  # slower than the links: its own limit
