"""What a path fixes, and what is made of a figure beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.journal.marks import FILLED_SHARE
from culvert.proof.known import KnownPath
from culvert.proof.truth import (
    POSSIBLE,
    Judged,
    Truth,
    exactly,
    judge_truths,
    judged_in,
    rate,
    time,
)
from culvert.results import Metric
from culvert.topology.ip import IpVersion
from culvert.topology.link.impairment import Bursts, Codel, Impairment, OneWay
from culvert.topology.link.jitter import Jitter
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.check import Check


def path(one_way: OneWay, *, bare: bool = True, **link: object) -> KnownPath:
    found = LinkSpec("wire", impairment=Impairment.both(one_way), mtu=1400)
    spec = LabSpec(link=replace(found, **link))  # type: ignore[arg-type]
    return KnownPath(spec, spec.topology.paths[0], spec.path_link(spec.topology.paths[0]), bare)


FAR = OneWay(rate_bps=20_000_000, delay_ns=20_000_000, queue_bytes=200_000)


def test_a_packet_takes_the_delay_and_its_transmission() -> None:
    known = path(FAR)
    assert known.one_way_ns() == 20_000_000
    assert known.one_way_ns(1400) == 20_000_000 + 1414 * 8 / 0.02
    assert known.round_trip_ns(1400, 86) == 40_000_000 + (1414 + 100) * 8 / 0.02
    assert known.queue_ns() == 200_000 * 8 / 0.02


def test_the_payload_of_full_packets_is_what_a_link_carries() -> None:
    (truth,) = path(FAR).goodput("goodput_bps", [1400], 52, 10, True)
    assert truth.value == truth.most == pytest.approx(20e6 * 1348 / 1414)
    assert truth.least == pytest.approx(0.98 * truth.most)
    assert truth.bound == pytest.approx(20e6 * 1348 / 1414 * 1.002)
    (truth,) = path(FAR).packets(["ndr_pps"], [200, 400], 1)
    assert truth.value == pytest.approx(20e6 / 8 / 314)


def test_of_a_vpn_the_bound_alone_is_known() -> None:
    known = path(FAR, bare=False)
    (truth,) = known.goodput("goodput_bps", [1400], 52, 10, True)
    assert truth.value is None
    assert truth.bound > 20e6 * 1400 / 1414
    assert not known.times(["rtt_p50_us"], "us", known.round_trip_ns(), "")
    assert not known.loss("loss_ratio", 1000)
    # Its largest packets may be of 1,280 bytes: more of them fit than of the link's.
    assert not known.packets(["ndr_pps"], [1400], 1)


@pytest.mark.parametrize(
    "one_way",
    [
        replace(FAR, jitter=Jitter(1_000_000)),
        replace(FAR, codel=Codel()),
        replace(FAR, duplicate=0.1),
        replace(FAR, loss=0.01),
    ],
)
def test_what_disturbs_the_links_leaves_the_bound(one_way: OneWay) -> None:
    (truth,) = path(one_way).goodput("goodput_bps", [1400], 52, 10, True)
    assert truth.value is None


def test_both_directions_share_the_links_with_acknowledgements() -> None:
    (truth,) = path(FAR).goodput("goodput_bps", [1400], 52, 10, True, False)
    assert truth.value is None
    assert truth.bound == pytest.approx(2 * 20e6 * 1348 / 1414 * 1.002)


def test_without_a_rate_there_is_no_bound() -> None:
    assert not path(OneWay()).goodput("goodput_bps", [1400], 52, 10, True)
    assert not path(OneWay()).packets(["ndr_pps"], [200], 1)


def test_super_packets_of_a_veth_share_a_header() -> None:
    joined = path(FAR, kind="veth", offloads=True).goodput("goodput_bps", [1400], 52, 10, True)
    assert joined[0].bound == pytest.approx(20e6 * 1.002)
    assert joined[0].value is None


def test_loss_is_within_its_binomial_interval() -> None:
    (truth,) = path(replace(FAR, loss=0.02)).loss("loss_ratio", 10_000)
    assert truth.value == 0.02
    assert 0.01 < truth.least < 0.02 < truth.most < 0.03
    (both,) = path(replace(FAR, loss=0.02)).loss("loss_ratio", 10_000, round_trip=True)
    assert both.value == pytest.approx(0.0396)
    (bursts,) = path(replace(FAR, loss=Bursts(0.01, 0.25))).loss("loss_ratio", 10_000)
    assert bursts.value == pytest.approx(0.01 / 0.26)
    (none,) = path(FAR).loss("loss_ratio", 10_000)
    assert (none.least, none.most) == (0, 0)


def test_packets_of_ipv6_are_longer() -> None:
    known = path(FAR)
    longer = replace(known, spec=replace(known.spec, underlay=IpVersion.V6))
    assert longer.frame_bytes(1380) == known.frame_bytes(1400)
    assert (longer.mtu, known.mtu) == (1380, 1400)


@given(st.floats(1, 1e10))
def test_a_rate_is_at_most_its_truth_and_a_time_at_least(value: float) -> None:
    assert rate("x", value, "").least <= value == rate("x", value, "").most
    found = time("x", "us", value, "", longer_ns=1000)
    assert found.value == pytest.approx(value / 1000)
    assert found.least == pytest.approx(0.999 * value / 1000)  # what a histogram distinguishes
    assert found.most == pytest.approx(value * 1.01 / 1000 + 200 + 1)


def one(truths: list[Truth], *metrics: Metric) -> Check:
    (check,) = judge_truths(truths, metrics)
    return check


def test_a_figure_above_its_bound_is_impossible() -> None:
    truth = rate("ndr_pps", 1768, "frames of 1414 bytes", bound=1800)
    assert one([truth], Metric("ndr_pps", "packets/s", 1790)).passed
    failed = one([truth], Metric("ndr_pps", "packets/s", 2288))
    assert not failed.passed
    assert failed.detail == "ndr_pps is 2288 packets/s, at most 1800 is possible"


def test_evidence_keeps_the_truths_beside_their_figures() -> None:
    truths = [rate("ndr_pps", 1768, "frames"), Truth("goodput_bps", None, bound=2e7)]
    metrics = [Metric("ndr_pps", "packets/s", 1760), Metric("goodput_bps", "bit/s", 1e7)]
    check = one(truths, *metrics)
    evidence = {"checks": [{"name": "another", "figures": {}}, vars(check)]}
    (judged,) = judged_in(evidence)
    assert isinstance(judged, Judged)
    assert (judged.metric, judged.measured, judged.value) == ("ndr_pps", 1760, 1768)
    assert judged.right
    assert check.name == POSSIBLE


def test_the_least_share_of_the_path_that_a_rate_fills_is_recorded() -> None:
    truths = [
        rate("goodput_bps", 964e6, "of 1 Gbit/s"),
        rate("ndr_pps", 1000, "frames"),
        time("rtt_p50_us", "us", 20e6, "the delay"),
        exactly("duplicate_packets", 0, "none"),
    ]
    metrics = [
        Metric("goodput_bps", "bit/s", 404e6),
        Metric("ndr_pps", "packets/s", 990),
        Metric("rtt_p50_us", "us", 20_010),
        Metric("duplicate_packets", "packets", 0),
    ]
    check = one(truths, *metrics)
    assert check.figures[FILLED_SHARE] == pytest.approx(404 / 964)
    assert check.detail.endswith("the baseline reaches 42% of what the path carries")
    assert FILLED_SHARE not in one(truths[2:], *metrics).figures


def test_labels_select_the_figures_that_a_truth_is_about() -> None:
    truth = replace(exactly("leaked_packets", 50, ""), labels={"kind": "udp"})
    metrics = [
        Metric("leaked_packets", "packets", 300),
        Metric("leaked_packets", "packets", 50, {"kind": "udp"}),
    ]
    (judged,) = judged_in({"checks": [vars(one([truth], *metrics))]})
    assert judged.right
    assert judged.measured == 50


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert not judge_truths([], [Metric("goodput_bps", "bit/s", 1e7)])
    assert not judge_truths([exactly("x", 1, "")], [Metric("y", "1", 1)])
