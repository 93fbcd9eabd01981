"""Packets that crossed a relay, compared with those that the ends sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from culvert.proof.route import judge_all_relayed, judge_relays
from culvert.topology.graph import Role
from culvert.topology.link.impairment import Blackout, Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.trial.session import Session
from culvert.trial.watch import Watched
from culvert.vpns.variant import DIRECT, Route

RELAYED = Route("relay")
SENT = 5000
"""By each end."""


def node(name: str) -> Any:
    return SimpleNamespace(name=name, underlay=SimpleNamespace(device="u0"))


def used(**counters: int) -> Any:
    device = SimpleNamespace(rx_packets=0, rx_bytes=0, tx_packets=0)
    vars(device).update(counters)
    return SimpleNamespace(device=lambda name: device if name == "u0" else None)


def passes(
    crossed: int,
    *,
    route: Route = RELAYED,
    one_way: OneWay | None = None,
    to_control: int = 0,
    sent: int = SENT,
) -> bool:
    """With ``sent`` packets of each end, in 10 s."""
    lab = SimpleNamespace(
        real_links=False, of_role=lambda role: [node("control")] if role is Role.CONTROL else []
    )
    session = SimpleNamespace(
        lab=lab,
        relays=[node("relay")],
        route=route,
        source=node("a"),
        target=node("b"),
        link=LinkSpec(impairment=Impairment.both(one_way or OneWay())),
    )
    end = SimpleNamespace(accounted=used(tx_packets=sent))
    watched = SimpleNamespace(
        nodes={"a": end, "b": end},
        sent={},
        seconds=10.0,
        others={"relay": used(rx_packets=crossed), "control": used(rx_packets=to_control)},
    )
    (check,) = judge_relays(cast(Session, session), cast(Watched, watched))
    return check.passed


@pytest.mark.parametrize(
    ("crossed", "route", "passed"),
    [
        (2 * SENT, RELAYED, True),
        (9795, RELAYED, True),
        (9700, RELAYED, False),
        (0, RELAYED, False),
        (0, DIRECT, True),
        (320, DIRECT, True),
        (321, DIRECT, False),
    ],
)
def test_all_packets_of_a_relayed_path_cross_and_none_of_a_direct_one(
    crossed: int, route: Route, *, passed: bool
) -> None:
    assert passes(crossed, route=route) is passed


@pytest.mark.parametrize("each", [6, 60, 120, 1000])
def test_of_a_short_trial_on_a_direct_path_at_most_a_quarter_crosses(each: int) -> None:
    most = min(0.02 * 2 * each + 120, each / 2)
    assert passes(int(most), route=DIRECT, sent=each)
    assert not passes(int(most) + 1, route=DIRECT, sent=each)
    assert not passes(2 * each, route=DIRECT, sent=each)


def test_what_went_to_the_control_server_need_not_cross() -> None:
    assert not passes(9700)
    assert passes(9700, to_control=200)


@pytest.mark.parametrize(
    ("one_way", "least"),
    [
        (OneWay(loss=0.05), 9295),
        (OneWay(loss=0.5), 4795),
        (OneWay(blackout=Blackout(10**9, 1)), 8795),
        (OneWay(blackout=Blackout(60 * 10**9, 1)), 195),
        (OneWay(loss=(0, 7)), 9793),
        (OneWay(drop_udp=True), 9795),
    ],
)
def test_what_the_links_lose_on_the_way_cannot_cross(one_way: OneWay, least: int) -> None:
    assert passes(least + 1, one_way=one_way)
    assert not passes(least - 1, one_way=one_way)


@pytest.mark.parametrize(
    ("received", "loss", "passed"),
    [(600, 0.0, True), (584, 0.0, True), (583, 0.0, False), (300, 0.0, False), (524, 0.1, True)],
)
def test_of_members_that_are_relayed_the_servers_receive_all(
    received: int, loss: float, *, passed: bool
) -> None:
    link = LinkSpec(impairment=Impairment.both(OneWay(loss=loss)))
    session = cast(Session, SimpleNamespace(link=link))
    check = judge_all_relayed(session, sent=600, received=received, members=4, seconds=1.0)
    assert check.passed is passed
