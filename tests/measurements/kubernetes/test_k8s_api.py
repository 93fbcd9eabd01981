"""What is kept of requests to the API."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from culvert.analysis.declared import headline_columns
from culvert.measurements.kubernetes.answers import Request
from culvert.measurements.kubernetes.k8s_api import (
    ApiInstrument,
    K8sApiParameters,
    hey_arguments,
    series_of,
    url,
)

REQUESTS = [
    Request(0, 2_000_000, 200, 1_000_000),
    Request(100, None, 0, 5_000_000),
    Request(200, 3_000_000, 429),
]


def test_a_request_without_an_answer_is_kept_with_its_schedule() -> None:
    times, statuses, late = series_of(REQUESTS, ApiInstrument.PROBE)
    assert (times.name, times.t_ns, times.values) == ("response_ms", [0, 200], [2.0, 3.0])
    assert (statuses.name, statuses.t_ns) == ("response_status", [0, 100, 200])
    assert statuses.values == [200, 0, 429]
    assert (late.name, late.t_ns, late.values) == ("sent_late_ms", [0, 100, 200], [1.0, 5.0, 0.0])


def test_hey_has_no_schedule_to_be_late_for() -> None:
    names = [one.name for one in series_of(REQUESTS, ApiInstrument.HEY)]
    assert names == ["response_ms", "response_status"]


def test_workers_of_hey_share_the_rate_as_in_the_papers_script() -> None:
    given = {"requests": 5000, "rate": "1000/s", "instrument": "hey", "workers": 100}
    words = hey_arguments(K8sApiParameters.model_validate(given))
    assert words[:6] == ["-n", "5000", "-c", "100", "-q", "10"]
    assert hey_arguments(K8sApiParameters.model_validate({}))[2:6] == ["-c", "1", "-q", "10"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workers": 2}, "the probe has no workers"),
        ({"workers": 3, "instrument": "hey"}, "cannot be shared by 3 workers"),
        ({"token": True, "instrument": "hey"}, "hey takes a token as an argument"),
    ],
)
def test_what_workers_cannot_be(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        K8sApiParameters.model_validate(given)


def test_without_a_request_there_is_no_value() -> None:
    assert all(not one.values for one in series_of([], ApiInstrument.PROBE))


def test_an_address_of_ipv6_is_between_brackets() -> None:
    assert url("10.96.0.1", 443, "/version") == "https://10.96.0.1:443/version"
    assert url("fd00::1", 443, "/version") == "https://[fd00::1]:443/version"


def test_its_figures_are_columns_of_the_summary() -> None:
    columns = {metric.name for kind, metric, _ in headline_columns() if kind == "k8s_api"}
    assert columns == {"response_p50_ms", "response_p99_ms"}
