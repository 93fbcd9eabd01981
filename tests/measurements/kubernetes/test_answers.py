"""Requests to the API and their answers."""

from __future__ import annotations

import pytest

from culvert.measurements.instruments.base import InstrumentError
from culvert.measurements.kubernetes import answers
from culvert.measurements.kubernetes.answers import HttpsResult, Request, Responses

HEY = """\
response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset
0.0050,0.0020,0.0000,0.0001,0.0020,0.0001,200,0.2000
0.0040,0.0000,0.0000,0.0001,0.0030,0.0001,503,0.1000
"""


def test_the_probes_times_count_from_when_a_request_was_due() -> None:
    rows = [[0, 10, 3_000_000, 200, 5], [100, 150, None, 0, 0]]
    found = answers.of_probe(
        HttpsResult.model_validate({"sent": 2, "connections": 1, "requests": rows})
    )
    assert found == [Request(0, 3_000_000, 200, 10), Request(100, None, 0, 50)]


def test_every_request_of_hey_is_kept_in_order() -> None:
    found = answers.of_hey(HEY)
    assert [one.due_ns for one in found] == [100_000_000, 200_000_000]
    assert [one.status for one in found] == [503, 200]
    assert found[1].response_ns == 5_000_000


@pytest.mark.parametrize("text", ["a,b\n1,2\n", HEY + "x,,,,,,200,0\n", HEY + "inf,,,,,,200,0\n"])
def test_what_hey_does_not_print(text: str) -> None:
    with pytest.raises(InstrumentError, match="not understood"):
        answers.of_hey(text)


def test_failures_are_no_times() -> None:
    found = Responses([*answers.of_hey(HEY), Request(0, None, 0)], planned=4)
    assert found.times_ms == [5.0]
    assert found.refused == {503: 1}
    assert (found.unanswered, found.failed) == (2, 3)


def test_a_request_is_late_from_a_tenth_of_a_second() -> None:
    found = Responses([Request(0, 1, 200, late_ns) for late_ns in (99_999_999, 100_000_000)], 2)
    assert found.late == 1


def test_percentiles_are_values_that_were_measured() -> None:
    ordered = [1.0, 2.0, 3.0, 4.0]
    assert [answers.percentile(ordered, share) for share in (0.25, 0.5, 0.51, 1.0)] == [1, 2, 3, 4]
    assert answers.percentile([7.0], 0.99) == 7.0
