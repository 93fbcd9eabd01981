from __future__ import annotations

import base64
import zlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.analysis.latency import EMPTY, LatencyDistribution, decode, percentile_table, pool
from tests.journal.dummies import encoded

nanoseconds = st.lists(st.integers(1, 10_000_000_000), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(nanoseconds, st.sampled_from([0.0, 50.0, 90.0, 99.0, 99.9, 100.0]))
def test_percentiles_are_those_of_the_values_within_a_thousandth(
    values: list[int], percent: float
) -> None:
    found = decode(encoded(values))
    assert found.total == len(values)
    if percent:
        exact = sorted(values)[max(0, int(np.ceil(percent / 100 * len(values) - 1e-6)) - 1)]
        assert found.percentile(percent) == pytest.approx(exact, rel=0.0011, abs=1)


@settings(max_examples=20, deadline=None)
@given(nanoseconds, nanoseconds)
def test_pooling_is_recording_everything_in_one(a: list[int], b: list[int]) -> None:
    both, together = decode(encoded(a)) + decode(encoded(b)), decode(encoded(a + b))
    assert both.values.tolist() == together.values.tolist()
    assert both.counts.tolist() == together.counts.tolist()


def test_an_uncompressed_histogram_is_read_too() -> None:
    packed = base64.b64decode(encoded([1000, 2000, 2000]))
    plain = base64.b64encode(zlib.decompress(packed[8:])).decode()
    assert decode(plain).counts.tolist() == [1, 2]


def test_a_percentile_needs_ten_probes_beyond_it() -> None:
    def of(total: int) -> LatencyDistribution:
        return LatencyDistribution(np.array([1]), np.array([total]))

    assert of(20).supports(50)
    assert not of(19).supports(50)
    assert of(1000).supports(99)
    assert of(10_000).supports(99.9)
    assert not of(99_999).supports(99.99)
    assert of(100_000).supports(99.99)
    assert not EMPTY.supports(50)


def trials() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trial": [1, 2, 3],
            "block": [1, 2, 3],
            "vpn": ["x", "x", "x"],
            "condition": ["clean"] * 3,
            "measurement": ["rtt"] * 3,
            "parameters": ["{}"] * 3,
            "status": ["ok", "ok", "invalid"],
        }
    )


def histograms() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "trial": [1, 2, 3, 1],
            "name": ["rtt_ns", "rtt_ns", "rtt_ns", "rtt_actual_ns"],
            "hdr_v2": [encoded([1000] * 30), encoded([3000] * 30), encoded([9] * 99), encoded([7])],
        }
    )


def test_only_trials_that_count_are_pooled() -> None:
    found = pool(trials(), histograms(), "rtt_ns")
    assert found["x"].counts.tolist() == [30, 30]
    assert pool(trials(), histograms().clear(), "rtt_ns") == {}


def test_the_table_says_where_probes_are_too_few() -> None:
    table = percentile_table(trials(), histograms(), "rtt_ns")
    value = dict(table.select("percent", "value").iter_rows())
    assert value[50.0] == pytest.approx(1000, rel=0.001)
    assert value[99.0] is None
    assert "too few probes (60)" in table.filter(pl.col("percent") == 99)["note"].to_list()
