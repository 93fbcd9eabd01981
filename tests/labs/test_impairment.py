"""Impairments: what is refused, and what netem is told; the wire is told in test_wire."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import ImpairmentError, NotPossible, UsageError
from culvert.labs.link import netem
from culvert.machine import features
from culvert.topology.link import netem as netem_options
from culvert.topology.link.impairment import CLEAN, Bursts, Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.presets import PRESETS
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from tests.conftest import LabFactory
from tests.labs.traffic import can_reach


def test_what_no_link_can_do() -> None:
    for impairment in (Impairment(OneWay(reorder=0.1)), Impairment(b_to_a=OneWay(reorder=0.1))):
        with pytest.raises(UsageError, match="reordering"):
            impairment.check()


def test_truth_is_something_asked() -> None:
    assert not CLEAN
    assert Impairment.both(OneWay(delay_ns=1))


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_be(name: str) -> None:
    preset = PRESETS[name]
    preset.check()
    assert preset


def test_a_rate_of_a_direction_goes_before_the_links() -> None:
    assert OneWay(rate_bps=5).conditions(7)["rate_bps"] == 5
    assert OneWay().conditions(7)["rate_bps"] == 7
    assert "rate_bps" not in OneWay().conditions(None)


def test_an_emulators_limit_is_the_wires_and_netems_own_and_needs_something_to_hold() -> None:
    way = OneWay(delay_ns=50_000_000, limit_packets=1000)
    assert way.conditions(None)["limit_packets"] == 1000
    assert netem_options.options(way, 10**9)[:2] == ["limit", "1000"]
    with pytest.raises(ImpairmentError, match="holds no packet"):
        OneWay(limit_packets=1000).conditions(None)


@pytest.mark.parametrize(
    ("one_way", "said"),
    [
        (
            OneWay(delay_ns=50_000_000, loss=0.01, reorder=0.25, corrupt=0.001, duplicate=0.02),
            "delay 50000us loss 1.0% duplicate 2.0% corrupt 0.1% reorder 25.0%",
        ),
        (OneWay(jitter=Jitter(5_000, reorders=True)), "delay 0us 5us"),
        (OneWay(), ""),
        (
            OneWay(loss=Bursts(0.02, 0.25), delay_ns=5_000_000, queue_packets=9),
            "delay 5000us loss gemodel 2.0% 25.0% 100.0% 0.0%",
        ),
        (OneWay(delay_ns=5_000_000, limit_packets=1000), "delay 5000us"),
        (OneWay(loss=Bursts(0.5, 0.5, 0.25, 0.75)), "loss gemodel 50.0% 50.0% 75.0% 25.0%"),
        (
            OneWay(jitter=Jitter(2_000_000, JitterShape.NORMAL, reorders=True), loss=0.5),
            "delay 0us 2000us distribution normal loss 50.0%",
        ),
        (
            OneWay(
                loss=Bursts(0.5, 1),
                delay_ns=1_000,
                duplicate=0.25,
                corrupt=0.125,
                reorder=0.5,
                rate_bps=8_000,
            ),
            "delay 1us loss gemodel 50.0% 100% 100.0% 0.0% duplicate 25.0% corrupt 12.5% "
            "reorder 50.0%",
        ),
    ],
)
def test_netem_in_the_words_of_tc(one_way: OneWay, said: str) -> None:
    limit, packets, *rest = netem_options.options(one_way, None)
    assert (limit, int(packets)) == (
        "limit",
        netem_options.limit_packets(one_way, one_way.rate_bps),
    )
    assert " ".join(rest) == said


@given(st.integers(1_000, 10**10), st.integers(0, 10**9))
def test_netem_holds_all_that_is_on_its_way(rate_bps: int, delay_ns: int) -> None:
    limit = netem_options.limit_packets(OneWay(delay_ns=delay_ns), rate_bps)
    smallest = rate_bps * delay_ns / 1e9 / 8 / netem_options.SMALLEST_FRAME_BYTES
    assert limit >= min(smallest, netem_options.MAX_LIMIT_PACKETS)
    assert 0 < limit <= netem_options.MAX_LIMIT_PACKETS


@pytest.mark.parametrize(
    "one_way",
    [
        OneWay(loss=(1, 2)),
        OneWay(jitter=Jitter(5)),
        OneWay(jitter=Jitter(5, JitterShape.NORMAL)),
        OneWay(jitter=Jitter(5, JitterShape.NORMAL, reorders=True, hold_ns=1)),
        OneWay(jitter=Jitter(5, JitterShape.PARETO, reorders=True)),
        OneWay(per_super_packet=True),
    ],
)
def test_what_netem_cannot_do_is_refused(one_way: OneWay) -> None:
    with pytest.raises(UsageError) as caught:
        netem_options.options(one_way, None)
    assert "wire" in caught.value.remedy


@pytest.mark.lab
def test_netem_where_it_is_and_a_remedy_where_not(lab: LabFactory) -> None:
    spec = LinkSpec(kind="netem", impairment=Impairment.both(OneWay(delay_ns=10_000_000)))
    if not features.has("netem"):
        with pytest.raises(NotPossible, match="netem") as caught:
            lab(LabSpec(link=spec))
        assert "wire" in caught.value.remedy
        return
    pair = lab(LabSpec(link=spec))

    def kinds(netlink: Any) -> set[str]:
        return {qdisc.get_attr("TCA_KIND") for qdisc in netlink.get_qdiscs()}

    assert "netem" in pair.a.namespace.netlink(kinds, "qdiscs")
    assert can_reach(pair.a, pair.b, port=5001)


def test_netem_has_no_offloads() -> None:
    link = LinkSpec(kind="netem", offloads=True)
    with pytest.raises(UsageError, match="super-packets"):
        netem.connect(None, None, link)  # type: ignore[arg-type]
