"""Searches on real paths; short, so that only what must hold of any search is asked."""

from __future__ import annotations

import pytest

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.udp.throughput import Throughput, ThroughputParameters
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.finding import TrialFinding
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import ETHERNET_HEADER, LinkSpec
from culvert.topology.spec import LabSpec
from tests.here import HERE
from tests.quiet import quiet
from tests.run.cells import measure, value, vpn

pytestmark = [pytest.mark.lab, pytest.mark.slow]
SHORT = {"trial": "100ms", "duration_sum": "300ms", "width": "10%", "latency": "200ms"}


def search_on(word: str, rate_bps: int | None, **more: object) -> TrialFinding:
    return Execution(
        vpn(word),
        LabSpec(link=LinkSpec(rate_bps=rate_bps)),
        Throughput(),
        ThroughputParameters.model_validate({**SHORT, **more}),
        Tunnels(lambda asked: NetnsLab(new_run_id(), asked)),
    ).execute()


def test_the_baseline_counts_although_the_generator_is_its_limit() -> None:
    finding = search_on("none", None, packet_size=64)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "ceiling_sent_pps") > 0
    assert value(finding, "pdr_pps") > 0


@pytest.mark.vpn
@pytest.mark.alone
def test_the_throughput_of_wireguard_is_found() -> None:
    contestant = vpn("wireguard/go")
    if missing := contestant.missing(HERE):
        pytest.skip(missing[0].remedy)
    finding = quiet(lambda: search_on("wireguard/go", None), unmarked=True)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert finding.evidence.proved
    assert value(finding, "packet_size_bytes") == 1420
    assert 0 <= value(finding, "ndr_pps") < value(finding, "ceiling_sent_pps")
    assert value(finding, "pdr_pps") < value(finding, "pdr_upper_pps")
    for load in (10, 50, 90):
        assert value(finding, f"rtt_p50_at_pdr_{load}_us") > 0


@pytest.mark.parametrize("rate_bps", [20_000_000, 40_000_000, 100_000_000])
def test_no_rate_is_above_the_line_and_the_line_is_found(rate_bps: int) -> None:
    """Behind a queue of 1,000 packets, which is half a second at the lowest rate."""
    far = Impairment.both(OneWay(delay_ns=30_000_000))
    link = LinkSpec("wire", rate_bps, mtu=1400, impairment=far)
    line_pps = rate_bps / (8 * (1400 + ETHERNET_HEADER))

    def searched() -> TrialFinding:
        parameters = {"packet_size": "max", "latency": "0s"}
        found = measure(vpn("none"), Throughput(), parameters, LabSpec(link=link))
        # However busy the machine is: it makes figures lower only.
        if found.status is Status.OK:
            assert max(value(found, name) for name in ("ndr_pps", "pdr_pps")) <= line_pps
        return found

    finding = quiet(searched, unmarked=True)
    assert (finding.status, finding.reason) == (Status.OK, "")
    for name in ("ndr", "pdr"):
        assert value(finding, f"{name}_pps") >= 0.98 * line_pps
