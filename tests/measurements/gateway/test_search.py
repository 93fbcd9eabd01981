"""A search over clients: simulated gateways of known capacity, and a real one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from culvert.measurements.gateway.crowd import Carried, CrowdTrial, Talk
from culvert.measurements.gateway.search import (
    GatewaySearch,
    GatewaySearchParameters,
    bounds_metrics,
    by_clients,
    merged,
)
from culvert.measurements.streams.offer import allowance_s
from culvert.measurements.udp.search import Bounds, SearchTrial, search
from culvert.probe.results.crowd import MemberSent, MemberSunk
from culvert.results import Status
from culvert.topology.link.impairment import CLEAN
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from tests.quiet import quiet
from tests.run.cells import measure, value, vpn

EACH_PPS = 100.0
CLIENTS = 1000
PARAMETERS = GatewaySearchParameters.model_validate({"clients": CLIENTS, "rate": "100/s"})

Simulated = Callable[[int, float, float], SearchTrial]


def token_bucket(capacity_pps: float, burst: int) -> Simulated:
    """Forwards packets that find a token, and drops the others."""

    def send(_: int, rate_pps: float, seconds: float) -> SearchTrial:
        offered = round(rate_pps * seconds)
        carried = min(offered, round(capacity_pps * seconds) + burst)
        return SearchTrial(rate_pps, seconds, offered, offered, carried, carried / seconds)

    return send


def server(service_s: float, waiting: int, seed: int) -> Simulated:
    """Serves one packet after the other, in exponential times; drops what finds a full queue."""
    generator = np.random.default_rng(seed)

    def send(_: int, rate_pps: float, seconds: float) -> SearchTrial:
        offered = round(rate_pps * seconds)
        times = generator.exponential(service_s, offered).tolist()
        within_s = seconds + allowance_s(seconds, CLEAN)
        free_s, carried = 0.0, 0
        for number, needed_s in enumerate(times):
            now_s = number / rate_pps
            free_s = max(free_s, now_s)
            if free_s - now_s < waiting * service_s:
                free_s += needed_s
                carried += free_s <= within_s
        return SearchTrial(rate_pps, seconds, offered, offered, carried, carried / seconds)

    return send


def found_clients(gateway: Simulated) -> tuple[float, float]:
    measure_once = by_clients(gateway, EACH_PPS, CLIENTS)
    (ndr, pdr), _ = search(measure_once, PARAMETERS.plan(EACH_PPS * CLIENTS))
    figures = [
        {one.name: one.value for one in bounds_metrics(name, bounds, 8.0, EACH_PPS)}
        for name, bounds in (("ndr", ndr), ("pdr", pdr))
    ]
    return figures[0]["ndr_clients"], figures[1]["pdr_clients"]


@pytest.mark.parametrize("capacity", [37, 120, 400, 910])
def test_a_token_bucket_of_known_capacity_is_found(capacity: int) -> None:
    ndr, pdr = found_clients(token_bucket(capacity * EACH_PPS, burst=10))
    assert ndr == pytest.approx(capacity, rel=0.05)
    assert pdr == pytest.approx(capacity, rel=0.05)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("waiting", [60, 500, 100_000])
def test_a_server_of_known_service_time_is_found(waiting: int, seed: int) -> None:
    _, pdr = found_clients(server(1 / (120 * EACH_PPS), waiting, seed))
    assert pdr == pytest.approx(120, rel=0.05)


def test_a_gateway_for_all_clients_has_no_upper_bound() -> None:
    found = bounds_metrics("pdr", Bounds(0.005, 800.0, None, 800.0), 8.0, EACH_PPS)
    figures = {one.name: one.value for one in found}
    assert figures["pdr_clients"] == 8
    assert "pdr_upper_clients" not in figures


def test_a_client_of_several_trials_sent_the_sum() -> None:
    talk = {name: Talk(name, None, None) for name in ("c1", "c2")}  # type: ignore[arg-type]

    def trial(*names: str) -> CrowdTrial:
        carried = [
            Carried(
                talk[name],
                MemberSent(packets=10, bytes=100, send_errors={"ENOBUFS": 1}),
                MemberSunk(packets=9, bytes=90, duplicates=1, duplicate_bytes=10),
            )
            for name in names
        ]
        return CrowdTrial(carried, 38, 1.0, 0.1 * len(names), "none", [])

    whole = merged([trial("c1", "c2"), trial("c1")])
    sums = {one.talk.client: (one.sent.packets, one.sunk.unique) for one in whole.carried}
    assert sums == {"c1": (20, 16), "c2": (10, 8)}
    assert (whole.offered, whole.late_s) == (33, 0.2)


@pytest.mark.lab
@pytest.mark.slow
@pytest.mark.parametrize("given", [{"rate": "200/s"}, {}])
def test_a_gateway_without_a_vpn(given: dict[str, object]) -> None:
    fast = {"clients": 4, "packet_size": 200, "trial": "100ms", "duration_sum": "200ms"}
    asked = {**fast, "width": "20%", "pdr_loss": "10%", **given}
    finding = quiet(lambda: measure(vpn("none"), GatewaySearch(), asked, LabSpec(topology=star(2))))
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "pdr_bps") > 0
    if given:
        assert value(finding, "pdr_clients") == 4
