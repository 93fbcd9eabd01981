"""The verification of impaired links, on links that do and do not do what was asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from culvert.measurements.underlay.underlay import Underlay, UnderlayParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.topology.link.impairment import CLEAN, Bursts, Codel, Impairment, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from tests.checks import failed_check
from tests.measurements.lying import LyingLab
from tests.quiet import quiet
from tests.run.cells import execute, vpn

pytestmark = pytest.mark.lab
LOSSY = LinkSpec(kind="wire", impairment=Impairment.both(OneWay(loss=0.1)), seed=5)


def verify(asked: LinkSpec, built: LinkSpec) -> TrialFinding:
    """What the verification says of a link that is not what it is taken for."""
    return Execution(
        vpn("none"),
        LabSpec(link=asked),
        Underlay(),
        UnderlayParameters.model_validate({"duration": "300ms"}),
        Tunnels(lambda spec: LyingLab(spec, built)),
    ).execute()


def delivered_loss(finding: TrialFinding) -> float:
    return next(
        metric.value
        for metric in finding.outcome.metrics
        if metric.name == "delivered_loss_ratio" and metric.labels["direction"] == "a to b"
    )


def test_a_link_that_loses_too_little_is_invalid() -> None:
    finding = verify(LOSSY, replace(LOSSY, impairment=CLEAN))
    assert finding.status is Status.INVALID
    assert failed_check(finding).name.startswith("the underlay has the requested loss")


def test_loss_that_was_asked_for_is_delivered_and_the_same_again() -> None:
    findings = [verify(LOSSY, LOSSY) for _ in range(2)]
    for finding in findings:
        named = {check.name: check for check in finding.evidence.checks}
        assert named["the underlay has the requested loss, a to b"].passed
        assert named["the underlay has the requested loss, b to a"].passed
    assert 0.05 < delivered_loss(findings[0]) < 0.15


def figures(finding: TrialFinding) -> dict[str, float]:
    """Of the direction from a to b."""
    return {
        metric.name: metric.value
        for metric in finding.outcome.metrics
        if metric.labels.get("direction") == "a to b"
    }


@pytest.mark.alone
@pytest.mark.parametrize(
    ("one_way", "metric", "low", "high"),
    [
        (OneWay(drop_size_and_above=1400), "oversize_arrived", 0, 0),
        (OneWay(drop_udp=True), "delivered_loss_ratio", 1, 1),
        (OneWay(drop_fragments=True), "fragments_arrived", 0, 0),
        (OneWay(loss=Bursts(0.02, 0.25)), "longest_loss_run", 2, 100),
        (OneWay(jitter=Jitter(2_000_000, JitterShape.PARETO, True)), "reordered_packets", 1, 5000),
        (OneWay(rate_bps=20_000_000, codel=Codel()), "delivered_rate_bps", 19e6, 21e6),
        (OneWay(delay_ns=5_000_000, reorder=0.2), "reordered_packets", 1, 5000),
        (OneWay(delay_ns=50_000_000, limit_packets=200), "delivered_limit_packets", 198, 202),
    ],
)
def test_what_is_asked_is_found_and_agrees(
    one_way: OneWay, metric: str, low: float, high: float
) -> None:
    link = LinkSpec(kind="wire", impairment=Impairment.both(one_way), seed=5)
    finding = quiet(lambda: verify(link, link), unmarked=True)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert low <= figures(finding)[metric] <= high
    delays = [one.labels["direction"] for one in finding.outcome.histograms]
    assert delays == ([] if one_way.drop_udp else ["a to b", "b to a"])


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        (OneWay(drop_size_and_above=1400), "the underlay drops long packets"),
        (OneWay(drop_udp=True), "the underlay has the requested loss"),
        (OneWay(drop_fragments=True), "no packet is in fragments"),
        (OneWay(delay_ns=5_000_000), "the underlay has the requested delay"),
        (OneWay(rate_bps=20_000_000), "the underlay has the requested rate"),
    ],
)
def test_a_link_that_does_not_do_it_is_invalid(asked: OneWay, name: str) -> None:
    link = LinkSpec(kind="wire", impairment=Impairment.both(asked))
    finding = verify(link, replace(link, impairment=CLEAN))
    assert finding.status is Status.INVALID
    assert failed_check(finding).name.startswith(name)


@pytest.mark.parametrize("kind", ["udp_slow", "rtt"])
def test_a_long_path_is_waited_for(kind: str) -> None:
    slow = Impairment.both(OneWay(delay_ns=300_000_000))
    spec = LabSpec(link=LinkSpec(kind="wire", impairment=slow))
    finding = quiet(lambda: execute(vpn("none"), kind, spec))
    assert (finding.status, finding.reason) == (Status.OK, "")


@pytest.mark.parametrize("kind", ["udp", "rtt"])
@pytest.mark.parametrize("one_way", [OneWay(duplicate=0.1), OneWay(corrupt=0.02)])
def test_what_was_asked_for_makes_nothing_invalid(kind: str, one_way: OneWay) -> None:
    link = LinkSpec(kind="wire", rate_bps=50_000_000, impairment=Impairment.both(one_way))
    finding = quiet(lambda: execute(vpn("none"), kind, LabSpec(link=link)))
    assert (finding.status, finding.reason) == (Status.OK, "")
