"""Packets that crossed a relay, compared with those that the ends sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from culvert.proof.route import judge_relays
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
    crossed: int, *, route: Route = RELAYED, one_way: OneWay | None = None, to_control: int = 0
) -> bool:
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
    end = SimpleNamespace(accounted=used(tx_packets=SENT))
    watched = SimpleNamespace(
        nodes={"a": end, "b": end},
        sent={},
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
        (300, DIRECT, True),
        (301, DIRECT, False),
    ],
)
def test_all_packets_of_a_relayed_path_cross_and_none_of_a_direct_one(
    crossed: int, route: Route, *, passed: bool
) -> None:
    assert passes(crossed, route=route) is passed


def test_what_went_to_the_control_server_need_not_cross() -> None:
    assert not passes(9700)
    assert passes(9700, to_control=200)


@pytest.mark.parametrize(
    ("one_way", "least"),
    [
        (OneWay(loss=0.05), 9295),
        (OneWay(loss=0.5), 4795),
        (OneWay(blackout=Blackout(1, 1)), 195),
        (OneWay(loss=(0, 7)), 195),
    ],
)
def test_what_the_links_lose_on_the_way_cannot_cross(one_way: OneWay, least: int) -> None:
    assert passes(least + 1, one_way=one_way)
    assert not passes(least - 1, one_way=one_way)
