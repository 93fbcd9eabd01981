from __future__ import annotations

import pytest
from pydantic import ValidationError

from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.udp.arrivals import (
    ARRIVAL_METRICS,
    arrival_histograms,
    arrival_metrics,
    arrival_series,
)
from culvert.measurements.udp.udp import Udp, UdpParameters
from culvert.probe.results import UdpSunk
from culvert.results import Status
from culvert.run.trials.execution import Execution
from culvert.run.trials.stage import Tunnels
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec
from tests.measurements.fakes import asked, session
from tests.run.cells import value, vpn


def test_what_the_receiver_could_not_know_is_left_out() -> None:
    sunk = UdpSunk(packets=0, bytes=0)
    names = {metric.name for metric in arrival_metrics(sunk)}
    always = {"duplicate_packets", "reordered_packets", "reordered_ratio"}
    assert names == always | {"loss_runs", "longest_loss_run"}
    assert [series.values for series in arrival_series(sunk)] == [[]]
    assert arrival_histograms(sunk) == []


def test_figures_of_the_receiver_in_microseconds() -> None:
    sunk = UdpSunk.model_validate(
        {
            "packets": 9,
            "bytes": 9,
            "jitter_ns": 1500.0,
            "loss_runs": {"runs": 2, "longest": 7, "mean": 4.0, "lengths": [[1, 1], [7, 1]]},
            "one_way": {
                **{"min_ns": 1000, "p50_ns": 2000, "p99_ns": 3000, "max_ns": 4000},
                "histogram": "HIST",
            },
            "pdv": {"p50_ns": 500, "p99_ns": 2500, "p99_9_ns": 2900, "max_ns": 3000},
            "ipdv": {"p50_abs_ns": 100, "p99_abs_ns": 200, "max_abs_ns": 300},
            "reordered": 3,
            "reordering": {"extent_mean": 1.5, "extent_max": 2},
            "intervals": [
                {"t_ns": 5, "bytes": 9, "packets": 9, "lost": -1, "transit_mean_ns": 1500.0},
                {"t_ns": 6, "bytes": 0},
            ],
        }
    )
    assert [histogram.name for histogram in arrival_histograms(sunk)] == ["one_way_ns"]
    series = {one.name: (list(one.t_ns), list(one.values)) for one in arrival_series(sunk)}
    assert series["lost_packets"] == ([5, 6], [-1.0, 0.0])
    assert series["transit_mean_us"] == ([5], [1.5])  # nothing came in the other
    assert "socket_drops" not in series
    assert {m.name: m.unit for m in arrival_metrics(sunk)} == {
        spec.name: spec.unit for spec in ARRIVAL_METRICS
    }
    found = {metric.name: metric.value for metric in arrival_metrics(sunk)}
    assert found["jitter_us"] == pytest.approx(1.5)
    assert found["longest_loss_run"] == 7
    assert (found["ipdv_max_us"], found["reordering_extent_mean"]) == (0.3, 1.5)
    assert (found["one_way_p50_us"], found["one_way_p99_us"]) == (2, 3)
    assert found["delay_variation_p99_us"] == pytest.approx(2.5)


def test_arrivals_and_flows_reach_the_probe() -> None:
    made = session(
        {"udp_source": {"packets": 10, "bytes": 360, "seconds": 1.0}},
        {"udp_sink": {"packets": 10, "bytes": 360, "first_ns": 0, "last_ns": 10**9}},
    )
    wanted = {"packet_size": 64, "rate": "10/s", "arrivals": "burst", "burst": 5, "flows": 2}
    wanted |= {"threads": 2, "port": 7000, "source_port": 8000, "interval": "20ms"}
    Udp().run(made, UdpParameters.model_validate(wanted))
    given = asked(made.a, "udp_source")
    listening = asked(made.b, "udp_sink")
    assert (listening["flows"], listening["port"], listening["interval_ms"]) == (2, 7000, 20)
    assert (given["threads"], given["bind_port"]) == (2, 8000)
    assert (given["arrivals"], given["burst"], given["flows"]) == ("burst", 5, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"arrivals": "poisson"},
        {"rate": "10/s", "burst": 5},
        {"threads": 2},
        {"flows": 9, "source_port": 65530},
    ],
)
def test_a_spread_without_meaning_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        UdpParameters.model_validate(wrong)


@pytest.mark.lab
@pytest.mark.parametrize(
    "spread",
    [
        {"flows": 3, "threads": 2, "source_port": 20_000, "port": 21_000},
        {"arrivals": "poisson", "packet_size": "imix"},
        {"arrivals": "burst", "burst": 20, "packet_size": "64..1400 step 100"},
    ],
)
def test_every_packet_of_every_flow_arrives_on_a_bare_link(spread: dict[str, object]) -> None:
    finding = Execution(
        vpn("none"),
        LabSpec(),
        Udp(),
        UdpParameters.model_validate({"duration": "500ms", "rate": "2000/s", **spread}),
        Tunnels(lambda asked: NetnsLab(new_run_id(), asked)),
    ).execute()
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "received_packets") == value(finding, "offered_packets")
    assert value(finding, "loss_runs") == 0
    assert value(finding, "one_way_p50_us") > 0
    assert value(finding, "ipdv_p50_us") > 0
