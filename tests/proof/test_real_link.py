"""What a condition requests beside what a real link has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.proof.real_link import FoundLink, FoundWay, judge_real_link
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec

_NAMES = ("a to b", "b to a")
_WAY = FoundWay(rate_bps=1e9, sent=5000, lost=0)
_FOUND = FoundLink(1500, 200_000, 300_000, _WAY, _WAY)
_REQUESTED = LinkSpec(kind="real")


def failed(requested: LinkSpec, found: FoundLink = _FOUND) -> list[str]:
    return [check.detail for check in judge_real_link(_NAMES, requested, found) if not check.passed]


def both(**keys: object) -> Impairment:
    way = replace(OneWay(), **keys)  # type: ignore[arg-type]
    return Impairment(way, way)


def test_what_is_not_requested_is_no_fault() -> None:
    lossy = replace(_FOUND, there=replace(_WAY, lost=500), rtt_p50_ns=80_000_000)
    assert failed(_REQUESTED, lossy) == []


@given(st.integers(576, 9000), st.integers(576, 9000))
def test_both_mtus_are_named(requested: int, found: int) -> None:
    assert failed(_REQUESTED, replace(_FOUND, mtu=found)) == []
    wrong = failed(_REQUESTED.requesting(requested), replace(_FOUND, mtu=found))
    assert wrong == ([] if requested == found else [f"requested {requested} bytes, found {found}"])


def test_both_rates_are_named() -> None:
    assert failed(replace(_REQUESTED, rate_bps=1_000_000_000)) == []
    wrong = failed(replace(_REQUESTED, rate_bps=100_000_000))
    assert wrong == [
        "requested 100 Mbit/s, found 1000.000 Mbit/s of frames",
        "requested 100 Mbit/s, found 1000.000 Mbit/s of frames",
    ]


def test_delays_are_judged_by_the_round_trip() -> None:
    requested = replace(_REQUESTED, impairment=both(delay_ns=20_000_000))
    assert failed(requested, replace(_FOUND, rtt_p50_ns=40_500_000)) == []
    (wrong,) = failed(requested, replace(_FOUND, rtt_p50_ns=20_000_000))
    assert "40 ms" in wrong
    assert "20.000 ms" in wrong


def test_loss_is_judged_by_its_interval() -> None:
    requested = replace(_REQUESTED, impairment=both(loss=0.01))
    as_requested = replace(_WAY, lost=50)
    assert failed(requested, replace(_FOUND, there=as_requested, back=as_requested)) == []
    assert len(failed(requested)) == 2


@pytest.mark.parametrize("keys", [{"reorder": 0.1, "delay_ns": 0}, {"duplicate": 0.1}])
def test_what_cannot_be_shown_is_refused(keys: dict[str, float]) -> None:
    assert len(failed(replace(_REQUESTED, impairment=both(**keys)))) == 2


def test_nothing_that_crosses_is_said() -> None:
    dead = FoundWay(None, 100, 100)
    found = FoundLink(None, None, None, dead, dead)
    assert len(failed(replace(_REQUESTED.requesting(1500), rate_bps=1000), found)) == 3
    assert dead.loss == 1.0
