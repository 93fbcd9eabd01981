"""Truths of what a path without a VPN does not have: each can be missed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest

from culvert.measurements.acl.acl import Acl, AclParameters
from culvert.measurements.gateway.storm import SessionStorm, StormParameters
from culvert.measurements.kubernetes.k8s_api import K8sApi, K8sApiParameters
from culvert.measurements.tunnel.failover import Failover, FailoverParameters
from culvert.measurements.tunnel.initiation import Initiation, InitiationParameters
from culvert.proof.known import KnownPath
from culvert.proof.truth import Judged, Truth
from culvert.results import Metric
from culvert.topology import shapes
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

FAR = OneWay(delay_ns=20_000_000)
ACL, K8S = AclParameters.model_validate({}), K8sApiParameters.model_validate({})


def path(way: OneWay = FAR, *, bare: bool = False, clients: int = 0) -> KnownPath:
    topology = shapes.star(clients) if clients else shapes.pair()
    link = LinkSpec("wire", 20_000_000, impairment=Impairment.both(way))
    spec = LabSpec(topology=topology, link=link)
    first = spec.topology.paths[0]
    return KnownPath(spec, first, spec.path_link(first), bare)


def right(truth: Truth, *values: float) -> list[bool]:
    return [Judged.of(truth, Metric(truth.metric, "1", value)).right for value in values]


def test_a_path_that_is_open_again_has_carried_an_answer() -> None:
    opened, permitted = Acl.truths(path(), ACL)
    assert opened.metric == "open_ms"
    assert right(opened, 19.9, 20.0, 900.0) == [False, True, True]
    assert right(permitted, 1.0, 2 / 3, 0.0) == [True, False, False]
    assert [one.metric for one in Acl.truths(path(replace(FAR, loss=0.1)), ACL)] == ["open_ms"]
    assert not Acl.truths(path(replace(FAR, jitter=Jitter(1_000_000))), ACL)


def test_the_packets_at_a_relay_are_those_of_both_streams() -> None:
    parameters = FailoverParameters.model_validate({"rate": "200/s", "hold": "2s"})
    truths = {
        (one.labels["switch"], one.labels["when"]): one
        for one in Failover.truths(path(), parameters)
    }
    for relayed in (("relay", "after"), ("direct", "before")):
        assert truths[relayed].value == 800
        assert right(truths[relayed], 0, 400, 790, 1600) == [False, False, True, True]
    for direct in (("relay", "before"), ("direct", "after")):
        assert right(truths[direct], 0, 40, 400, 800) == [True, True, False, False]


def test_an_answer_of_the_api_takes_a_round_trip() -> None:
    first, sent = K8sApi.truths(path(), K8S)
    assert right(first, 0.4, 39.0, 41.0) == [False, False, True]
    assert right(sent, 1000, 999) == [True, False]


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_a_handshake_takes_the_round_trips_that_its_driver_declares(start: str) -> None:
    known = replace(path(), handshake_trips=2)
    parameters = InitiationParameters.model_validate({"start": start})
    handshake, total = Initiation.truths(known, parameters)
    assert right(handshake, 40.0, 79.0, 80.5, 120.0, 160.0) == [False, False, True, True, False]
    assert right(total, 80.0, 119.0, 121.0) == [False, False, True]


@pytest.mark.parametrize(
    ("start", "trips", "way"),
    [("cold", 0, FAR), ("restart-peer", 1, FAR), ("cold", 1, replace(FAR, loss=0.1))],
)
def test_nothing_is_known_of_other_handshakes(start: str, trips: int, way: OneWay) -> None:
    parameters = InitiationParameters.model_validate({"start": start})
    assert not Initiation.truths(replace(path(way), handshake_trips=trips), parameters)


def test_of_a_storm_without_a_vpn_all_are_up_after_a_crossing_and_a_period() -> None:
    given: Mapping[str, object] = {"clients": 4, "established": "50%", "rate": "1000/s"}
    known, parameters = path(bare=True, clients=4), StormParameters.model_validate(given)
    found = {one.metric: one for one in SessionStorm.truths(known, parameters)}
    crossing_s = known.one_way_ns() / 1e9
    for name in ("half_up_s", "p99_up_s", "all_up_s"):
        assert right(found[name], 0.9 * crossing_s, crossing_s + 0.02, crossing_s + 0.05) == [
            False,
            True,
            False,
        ]
    assert right(found["storm_clients"], 2, 4) == [True, False]
    assert right(found["established_loss_ratio"], 0, 0.01) == [True, False]


def test_below_a_time_of_which_a_part_is_known_no_machine_has_a_figure() -> None:
    (first, _) = K8sApi.truths(path(), K8S)
    assert math.isinf(first.most)
    for value, impossible in ((39.0, True), (40.0, False), (4000.0, False)):
        judged = Judged.of(first, Metric(first.metric, "ms", value))
        assert judged.impossible is impossible
