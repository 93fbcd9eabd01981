"""Figures of pages from what the probe counted; short ones for real, also beside a tunnel."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from culvert.measurements.apps import http
from culvert.measurements.apps.http import Http, HttpParameters
from culvert.probe.results import HttpLoaded, HttpServed
from culvert.results import Status
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from tests.measurements.fakes import asked, session
from tests.run import cells
from tests.run.cells import value, vpn
from tests.vpns.tunnels import skip_reason

MS = 1_000_000
TIMES = {"p50_ns": 20 * MS, "p90_ns": 30 * MS, "p99_ns": 40 * MS, "max_ns": 50 * MS}
LOADED: dict[str, Any] = {
    **{"seconds": 2.0, "connections": 20, "objects": 1260, "bytes": 48_000_000},
    **{"page": {**TIMES, "histogram": "PAGE"}, "first_byte": TIMES, "connect": TIMES},
    "pages": [[number * 100 * MS, 20 * MS] for number in range(20)],
    "udp": {"sent": 4000, "sent_bytes": 200_000, "received": 39_000, "received_bytes": 47_000_000},
}
SERVED: dict[str, Any] = {
    "connections": 20,
    "udp": {"sent": 40_000, "sent_bytes": 48_500_000, "received": 3900, "received_bytes": 195_000},
}
MARKED = {"sent": 100, "received": 100, "lost": 0}
SHORT = {"duration": "300ms", "small_objects": 10, "large_objects": 1, "large_size": "100kB"}
WIREGUARD = pytest.mark.skipif(
    bool(skip_reason("wireguard/go")), reason=skip_reason("wireguard/go")
)


def measure(loaded: dict[str, Any], marked: dict[str, Any] = MARKED, **parameters: Any) -> Outcome:
    made = session(
        {"http_client": LOADED | loaded, "rtt": marked},
        {"http_server": SERVED, "echo": {"packets": 100}},
    )
    requested = HttpParameters.model_validate({"version": 3, **parameters})
    outcome = Http().run(made, requested)
    given = asked(made.a, "http_client")
    assert (given["version"], given["port"], given["certificate"]) == ("3", 40001, "Q1ZU")
    assert given["objects"] == requested.objects
    return outcome


def values(outcome: Outcome) -> dict[str, float]:
    return {metric.name: metric.value for metric in outcome.metrics}


def test_times_and_rates() -> None:
    outcome = measure({})
    found = values(outcome)
    assert (found["page_load_p50_ms"], found["page_load_p90_ms"]) == (20, 30)
    assert "page_load_p99_ms" not in found  # 20 pages have none
    assert (found["objects_per_s"], found["goodput_bps"]) == (630, 192e6)
    assert (found["pages"], found["failed_pages"]) == (20, 0)
    assert all(check.passed for check in outcome.doubts)
    assert outcome.traffic is not None
    # Data comes back; the marked packets and the datagrams that close are in it.
    assert outcome.traffic.b_to_a_sent.packets == 40_000 + 20 * 4 + 100
    assert outcome.traffic.b_to_a_received.packets == 39_000 + 100


@pytest.mark.parametrize(
    ("loaded", "marked", "doubt"),
    [
        ({"errors": {"timeout": 3}}, MARKED, "pages are loaded"),
        ({"pages": [], "page": None}, MARKED, "pages are loaded"),
        ({}, {**MARKED, "received": 0}, "the canary travels beside the load"),
    ],
)
def test_doubts(loaded: dict[str, Any], marked: dict[str, Any], doubt: str) -> None:
    failed = [one for one in measure(loaded, marked).doubts if not one.passed]
    assert [one.name for one in failed] == [doubt]
    assert failed[0].remedy


@given(st.integers(0, 200), st.integers(0, 50))
def test_a_page_has_its_objects(small: int, large: int) -> None:
    sizes = {"small_size": "1kB", "large_size": "9kB"}
    page = {"small_objects": small, "large_objects": large, **sizes}
    if small + large == 0:
        with pytest.raises(ValidationError):
            HttpParameters.model_validate(page)
        return
    objects = HttpParameters.model_validate(page).objects
    assert (objects.count(1000), objects.count(9000)) == (small, large)


@pytest.mark.parametrize(
    "wrong",
    [{"version": 1}, {"small_size": "0B"}, {"small_objects": 200, "large_objects": 57}],
)
def test_impossible_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        HttpParameters.model_validate(wrong)


@pytest.mark.lab
@pytest.mark.vpn
@WIREGUARD
@pytest.mark.parametrize("word", ["none", "wireguard/go"])
@pytest.mark.parametrize(("version", "connection"), [(2, "fresh"), (3, "reused")])
def test_pages_are_loaded_and_proved(word: str, version: int, connection: str) -> None:
    page = {**SHORT, "version": version, "connection": connection}
    finding = cells.measure(vpn(word), Http(), page)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "pages") > 0
    assert value(finding, "failed_pages") == 0


@pytest.mark.lab
@pytest.mark.parametrize("version", [2, 3])
def test_pages_are_loaded_over_a_link_with_loss(version: int) -> None:
    lossy = OneWay(loss=0.02, delay_ns=2 * MS)
    spec = LabSpec(
        link=LinkSpec(kind="wire", rate_bps=20_000_000, impairment=Impairment(lossy, lossy))
    )
    finding = cells.measure(vpn("none"), Http(), {**SHORT, "version": version}, spec)
    assert (finding.status, finding.reason) == (Status.OK, "")
    assert value(finding, "pages") > 0


@pytest.mark.lab
@pytest.mark.vpn
@WIREGUARD
@pytest.mark.parametrize("version", [2, 3])
def test_a_page_beside_the_tunnel_is_found_though_it_is_ciphertext(
    monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    load = http._load

    def and_beside(session: Session, parameters: HttpParameters) -> tuple[HttpLoaded, HttpServed]:
        found = load(session, parameters)
        monkeypatch.setattr(
            Session, "inner", lambda _, node: str(node.underlay.reached_at.ip), raising=True
        )
        load(session, parameters)
        monkeypatch.undo()
        return found

    monkeypatch.setattr(http, "_load", and_beside)
    finding = cells.measure(vpn("wireguard/go"), Http(), {**SHORT, "version": version})
    assert finding.status is Status.INVALID
    failed = {check.name for check in finding.evidence.checks if not check.passed}
    assert {
        "nothing beside the tunnel (towards a)",
        "nothing beside the tunnel (towards b)",
    } <= failed
    # TLS hides the canary: only the flow tells.
    assert not any("clear text" in name for name in failed)
