"""Times that are shorter than the delay of the links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.metrics import MetricSpec
from culvert.proof.delay import delays_are_possible, least_ways_ns
from culvert.results import Metric
from culvert.study.catalogue import installed_measurements
from culvert.topology.graph import Topology
from culvert.topology.link.impairment import CLEAN, Impairment, OneWay
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import mesh, pair, routed
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Found, Session
from culvert.vpns.variant import Carried, Route
from tests.measurements.fakes import Tunnel, session

MS = 1_000_000
BOTH = Impairment.both(OneWay(delay_ns=20 * MS))
ROUND_TRIP = MetricSpec("rtt_us", "us", "Round trip", ways=2)
ONE_WAY = MetricSpec("one_way_ms", "ms", "One-way delay", ways=1)
CONNECT = MetricSpec("connect_us", "us", "Time to connect", ways=2, of_packets=True)
OTHER = MetricSpec("jitter_us", "us", "Jitter")
SPECS = (ROUND_TRIP, ONE_WAY, CONNECT, OTHER)


def on(impairment: Impairment) -> Session:
    made = session(vpn=Tunnel(Tunnel.variants[0]))
    made.lab.spec = LabSpec(link=LinkSpec("wire", impairment=impairment))
    return made


def with_slow_links(topology: Topology) -> Session:
    """A delay of 20 ms on each link, in both directions."""
    made = session(vpn=Tunnel(Tunnel.variants[0]))
    slow = LinkSpec("wire", impairment=BOTH)
    made.lab.spec = LabSpec(topology, links={one.name: slow for one in topology.networks})
    made.path = topology.paths[0]
    return made


def passes(made: Session, spec: MetricSpec, value: float) -> bool:
    checks = delays_are_possible(made, SPECS, Outcome([Metric(spec.name, spec.unit, value)], []))
    return all(check.passed for check in checks)


@pytest.mark.parametrize(
    ("spec", "value", "possible"),
    [
        (ROUND_TRIP, 250, False),
        (ROUND_TRIP, 39_900, False),
        (ROUND_TRIP, 40_010, True),
        (ONE_WAY, 19.9, False),
        (ONE_WAY, 20.1, True),
        (CONNECT, 430, False),
        (OTHER, 1, True),
    ],
)
def test_no_time_is_shorter_than_the_crossings_that_it_contains(
    *, spec: MetricSpec, value: float, possible: bool
) -> None:
    assert passes(on(BOTH), spec, value) is possible


def test_the_failure_names_figure_and_delay() -> None:
    outcome = Outcome([Metric("rtt_us", "us", 250), Metric("jitter_us", "us", 1)], [])
    (check,) = delays_are_possible(on(BOTH), SPECS, outcome)
    assert check.name == "delays are possible"
    assert "rtt_us is 250 us" in check.detail
    assert "20 ms" in check.detail or "19.98 ms" in check.detail
    assert "jitter" not in check.detail


def test_each_direction_counts_with_its_own_delay() -> None:
    uneven = on(Impairment(OneWay(delay_ns=30 * MS), OneWay(delay_ns=10 * MS)))
    assert not passes(uneven, ROUND_TRIP, 39_000)
    assert passes(uneven, ROUND_TRIP, 40_100)
    assert passes(uneven, ONE_WAY, 10.1)  # data may flow in the faster direction


def test_without_a_delay_nothing_is_judged() -> None:
    outcome = Outcome([Metric("rtt_us", "us", 0.1)], [])
    assert delays_are_possible(on(CLEAN), SPECS, outcome) == []


def test_a_packet_that_may_overtake_may_be_early() -> None:
    assert passes(on(Impairment.both(OneWay(delay_ns=20 * MS, reorder=0.1))), ROUND_TRIP, 300)


def test_jitter_makes_the_least_delay_smaller() -> None:
    jitter = Jitter(5 * MS)
    shaky = on(Impairment.both(replace(BOTH.a_to_b, jitter=jitter)))
    assert passes(shaky, ROUND_TRIP, 2 * (20 * MS + jitter.least_ns) / 1000 + 10)
    assert not passes(shaky, ROUND_TRIP, 2 * (20 * MS + jitter.least_ns) / 1000 - 100)


def test_a_proxy_answers_connections_on_the_near_node() -> None:
    made = on(BOTH)
    made.vpn.__class__ = type("Proxy", (Tunnel,), {"carries": Carried.PAYLOAD})
    assert passes(made, CONNECT, 430)
    assert not passes(made, ROUND_TRIP, 430)


def test_between_two_clocks_a_single_crossing_is_not_known() -> None:
    made = on(BOTH)
    made.lab.shared_kernel = False
    assert passes(made, ONE_WAY, 1)
    assert not passes(made, ROUND_TRIP, 250)


@pytest.mark.parametrize(("topology", "links"), [(pair(), 1), (routed(), 2)])
def test_the_links_of_a_path_add_up(topology: Topology, links: int) -> None:
    made = with_slow_links(topology)
    assert not passes(made, ROUND_TRIP, 40_000 * links - 500)
    assert passes(made, ROUND_TRIP, 40_000 * links + 1)


def test_the_links_to_a_relay_count() -> None:
    made = with_slow_links(mesh(3))
    direct_us = 2 * sum(least_ways_ns(made)) / 2000
    made.found = Found(Route(via="c"))
    assert not passes(made, ROUND_TRIP, direct_us + 500)
    made.found = Found(Route(via="of a cluster"))
    assert passes(made, ROUND_TRIP, direct_us + 500)


def test_the_round_trips_of_all_measurements_declare_their_ways() -> None:
    """Figures with this word in their title are round trips, or their differences."""
    for kind, measurement in installed_measurements().items():
        for spec in measurement.metrics:
            if spec.title.startswith("Round trip") and "instrument" not in spec.title:
                assert spec.ways == 2 or kind == "underlay", (kind, spec.name)
