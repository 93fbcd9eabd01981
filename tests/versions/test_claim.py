"""Claims of a bisection."""

from __future__ import annotations

import math

import pytest

from culvert.errors import UsageError
from culvert.versions.claim import Claim


@pytest.mark.parametrize(
    ("text", "measurement", "metric", "ratio"),
    [
        ("tcp goodput falls by 5 %", "tcp", "goodput_bps", 0.95),
        ("tcp.goodput_bps falls by 2.5%", "tcp", "goodput_bps", 0.975),
        ("rtt rtt_p50_us rises by 10 %", "rtt", "rtt_p50_us", 1.1),
        ("tcp slower by 5 %", "tcp", None, 1.05),
        ("tcp cpu_s_per_gb rises by 200 %", "tcp", "cpu_s_per_gb", 3.0),
    ],
)
def test_it_is_read(text: str, measurement: str, metric: str | None, ratio: float) -> None:
    claim = Claim.read(text)
    assert (claim.measurement, claim.metric) == (measurement, metric)
    assert math.exp(claim.change) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("it is slower", "it is not a claim"),
        ("tpc goodput falls by 5 %", 'did you mean "tcp"'),
        ("tcp goodptu falls by 5 %", 'no metric "goodptu"'),
        ("tcp goodput falls by 100 %", "nothing falls by 100 %"),
        ("tcp goodput rises by 0 %", "nothing rises by 0 %"),
    ],
)
def test_a_wrong_claim_says_why(text: str, why: str) -> None:
    with pytest.raises(UsageError) as error:
        Claim.read(text)
    assert why in f"{error.value} {error.value.remedy}"
