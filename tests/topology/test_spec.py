"""Links of a lab: which one each network gets, and several of them as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.topology.graph import Path
from culvert.topology.link.impairment import CLEAN, Bursts, Impairment, OneWay
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.spec import LinkSpec, along
from culvert.topology.shapes import mesh, routed, star
from culvert.topology.spec import LabSpec

MS = 1_000_000
SLOW_UP = LinkSpec(
    kind="wire", impairment=Impairment(OneWay(delay_ns=20 * MS), OneWay(delay_ns=5 * MS))
)
LOSSY = LinkSpec(kind="wire", impairment=Impairment.both(OneWay(delay_ns=MS, loss=0.5)))
WAYS = st.builds(OneWay, delay_ns=st.integers(0, 10**9), loss=st.floats(0, 1))
LINKS = st.builds(
    LinkSpec,
    rate_bps=st.none() | st.integers(8000, 10**10),
    mtu=st.integers(576, 9000),
    offloads=st.booleans(),
    impairment=st.builds(Impairment, WAYS, WAYS),
)


@given(st.lists(st.tuples(LINKS, st.booleans()), min_size=1, max_size=4))
def test_delays_add_up_and_losses_combine(links: list[tuple[LinkSpec, bool]]) -> None:
    found = along(links, "a>b")
    there = [
        link.impairment.a_to_b if forward else link.impairment.b_to_a for link, forward in links
    ]
    back = [
        link.impairment.b_to_a if forward else link.impairment.a_to_b for link, forward in links
    ]
    for one, ways in ((found.impairment.a_to_b, there), (found.impairment.b_to_a, back)):
        assert one.delay_ns == sum(way.delay_ns for way in ways)
        passing = 1.0
        for way in ways:
            assert isinstance(way.loss, float)
            passing *= 1 - way.loss
        assert one.loss == pytest.approx(1 - passing)
    rates = [link.rate_bps for link, _ in links if link.rate_bps is not None]
    assert found.rate_bps == min(rates, default=None)
    assert found.mtu == min(link.mtu for link, _ in links)
    assert found.offloads == any(link.offloads for link, _ in links)


@given(st.lists(st.tuples(LINKS, st.booleans()), min_size=1, max_size=4))
def test_the_way_back_is_the_same_the_other_way_round(links: list[tuple[LinkSpec, bool]]) -> None:
    there = along(links, "a>b").impairment
    back = along([(link, not forward) for link, forward in reversed(links)], "b>a").impairment
    for one, other in ((there.a_to_b, back.b_to_a), (there.b_to_a, back.a_to_b)):
        assert one.delay_ns == other.delay_ns
        assert one.loss == pytest.approx(other.loss)


@pytest.mark.parametrize(
    "way",
    [
        OneWay(jitter=Jitter(spread_ns=MS)),
        OneWay(loss=Bursts(0.1, 0.5)),
        OneWay(loss=(0, 7)),
        OneWay(rate_bps=10**6),
        OneWay(delay_ns=MS, reorder=0.1),
        OneWay(duplicate=0.1),
        OneWay(drop_udp=True),
        OneWay(drop_size_and_above=1400),
    ],
)
def test_others_are_one_links_alone(way: OneWay) -> None:
    special = LinkSpec(kind="wire", impairment=Impairment(way, OneWay()))
    assert along([(LinkSpec(), True), (special, True)], "a>b").impairment.a_to_b == way
    assert along([(LinkSpec(), True), (special, False)], "a>b").impairment.b_to_a == way
    with pytest.raises(UsageError, match="path a>b") as caught:
        along([(SLOW_UP, True), (special, True)], "a>b")
    assert "one link" in caught.value.remedy


def test_a_routed_lab_is_impaired_on_its_first_link() -> None:
    spec = LabSpec(topology=routed(), link=SLOW_UP)
    assert spec.link_of("a-router") == SLOW_UP
    assert spec.link_of("router-b") == replace(SLOW_UP, impairment=CLEAN)
    assert spec.path_link(Path("a", "b")) == SLOW_UP
    there, back = SLOW_UP.impairment.a_to_b, SLOW_UP.impairment.b_to_a
    assert spec.path_link(Path("b", "a")).impairment == Impairment(back, there)


def test_each_measured_client_of_a_star_is_impaired_alike() -> None:
    spec = LabSpec(topology=star(3, every_path=True), link=SLOW_UP)
    assert [spec.path_link(path) for path in spec.topology.paths] == [SLOW_UP] * 3
    assert LabSpec(topology=star(3), link=SLOW_UP).link_of("c2-core").impairment == CLEAN


def test_a_single_link_goes_before_the_labs() -> None:
    spec = LabSpec(topology=mesh(3), link=SLOW_UP, links={"b-core": replace(LOSSY, mtu=1280)})
    assert spec.link_of("b-core").impairment == LOSSY.impairment
    both = spec.path_link(Path("a", "b")).impairment
    assert both.a_to_b == OneWay(delay_ns=21 * MS, loss=0.5)
    assert both.b_to_a == OneWay(delay_ns=6 * MS, loss=0.5)
    assert spec.path_link(Path("a", "c")).impairment == SLOW_UP.impairment
    assert (spec.mtu, LabSpec(topology=mesh(3)).mtu) == (1280, 1500)


def test_each_single_link_gets_a_seed_of_its_own() -> None:
    spec = LabSpec(topology=mesh(3), link=SLOW_UP, links={"b-core": LOSSY, "c-core": LOSSY})
    seeded = spec.with_seed(40)
    assert seeded.link.seed == 40
    assert {name: link.seed for name, link in seeded.links.items()} == {"b-core": 41, "c-core": 42}
    assert seeded.with_seed(1) == spec.with_seed(1)
