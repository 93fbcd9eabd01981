"""Whether the generators limited a load of many clients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from culvert.labs.node import Node
from culvert.measurements.gateway.ceiling import NearLink
from culvert.measurements.gateway.crowd import Carried, CrowdTrial, Load, Talk, Transport
from culvert.measurements.udp.losses import Losses
from culvert.probe.results.crowd import MemberSent, MemberSunk
from culvert.proof.limits import Ceiling
from culvert.trial.check import Check
from culvert.trial.session import Session

CLIENTS = 10
NOBODY = cast("Node", None)
LOAD = Load(Transport.UDP, 1.0, (1000,))


def check(outer_flow: object, offered_pps: int, ceiling_pps: float, lost: int = 0) -> Check:
    each = offered_pps // CLIENTS
    carried = [
        Carried(
            Talk(f"c{number}", NOBODY, NOBODY),
            MemberSent(packets=each, bytes=1000 * each, send_errors={}),
            MemberSunk(packets=each, bytes=1000 * each, duplicates=0, duplicate_bytes=0, corrupt=0),
        )
        for number in range(CLIENTS)
    ]
    trial = CrowdTrial(carried, 1000, 1.0, 0.0, "none", [])
    near = NearLink(Ceiling(ceiling_pps, ceiling_pps))
    session = cast("Session", SimpleNamespace(vpn=SimpleNamespace(outer_flow=outer_flow)))
    (found,) = near.checks(session, LOAD, trial, [], Losses(tunnel=lost))
    return found


@pytest.mark.parametrize(
    ("offered_pps", "lost", "passed"),
    [
        (95_000, 0, False),  # all that the generators reach, and the tunnel carried it
        (95_000, 5_000, True),  # the tunnel is the limit: it lost 5 %
        (50_000, 0, True),  # the tunnel is the limit: it held the senders back
    ],
)
def test_what_the_generators_reach_on_the_bare_links_is_no_figure_of_a_tunnel(
    offered_pps: int, lost: int, passed: bool
) -> None:
    assert check("a tunnel", offered_pps, 100_000, lost).passed is passed


def test_the_baseline_is_the_ceiling_itself() -> None:
    assert check(None, 100_000, 100_000).passed
