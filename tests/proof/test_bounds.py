"""No rate of any measurement is above that of the links: a trial with such a figure is invalid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.measurements.base import Measurement
from culvert.measurements.streams.packet import TCP_HEADERS
from culvert.metrics import MetricSpec
from culvert.proof.known import LATE_S, KnownPath
from culvert.proof.truth import judge_truths
from culvert.results import Metric
from culvert.study.catalogue import installed_measurements
from culvert.topology.link.impairment import Codel, Impairment, OneWay
from culvert.topology.link.spec import ETHERNET_HEADER, LinkSpec
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec

RATES = ("bit/s", "packets/s")
MTU = 1400
MORE: Mapping[str, Mapping[str, Any]] = {
    "udp": {"rate": "1Mbit/s"},
    "tcp": {"direction": "both"},
    "gateway_load": {"protocol": "tcp"},
    "throughput": {"packet_size": 200},
    "gateway_search": {"packet_size": 200, "rate": "100/s"},
    "session_storm": {"event": "churn"},
    "http": {"version": "3"},
}


def carried() -> Iterator[tuple[Measurement[Any], MetricSpec, Mapping[str, Any]]]:
    """Each rate of each measurement that is no offered one, and parameters."""
    for kind, measurement in installed_measurements().items():
        for spec in measurement.metrics:
            if spec.unit in RATES and not spec.offered:
                yield measurement, spec, {}
                of_packets = (
                    spec.unit == "packets/s" and MORE.get(kind, {}).get("protocol") == "tcp"
                )
                if kind in MORE and not of_packets:
                    yield measurement, spec, MORE[kind]


def known(
    measurement: Measurement[Any], parameters: Any, rate_bps: int, one_way: OneWay, *, bare: bool
) -> KnownPath:
    link = LinkSpec("wire", impairment=Impairment.both(one_way), rate_bps=rate_bps, mtu=MTU)
    spec = LabSpec(link=link, topology=star(2)) if measurement.drives_many else LabSpec(link=link)
    spec = measurement.lab(spec, parameters)
    path = spec.topology.paths[0]
    known_path = KnownPath(spec, path, spec.path_link(path), bare)
    return known_path if bare else replace(known_path, outer_length=lambda length: length + 60)


CASES = list(carried())
assert len(CASES) > 30


@pytest.mark.parametrize(
    ("measurement", "spec", "given_"),
    CASES,
    ids=[f"{one.kind}-{spec.name}-{len(more)}" for one, spec, more in CASES],
)
@settings(max_examples=4, deadline=None)
@given(
    rate_bps=st.integers(10**5, 10**11),
    one_way=st.sampled_from(
        [
            OneWay(),
            OneWay(delay_ns=30_000_000, queue_bytes=10**6),
            OneWay(codel=Codel(), loss=0.01),
        ]
    ),
    bare=st.booleans(),
)
def test_a_rate_above_the_line_is_impossible(
    measurement: Measurement[Any],
    spec: MetricSpec,
    given_: Mapping[str, Any],
    rate_bps: int,
    one_way: OneWay,
    bare: bool,
) -> None:
    parameters = measurement.Parameters.model_validate(given_)
    path = known(measurement, parameters, rate_bps, one_way, bare=bare)
    stated = isinstance(getattr(parameters, "packet_size", None), int)
    if not bare and spec.unit == "packets/s" and not (stated and "ceiling" in spec.name):
        return  # Their length is known only in the tunnel; the same rate in bits is bounded.
    truths = measurement.truths(path, parameters)
    links = 2 if given_.get("direction") == "both" else 1
    size = getattr(parameters, "packet_size", MTU)
    length = size if isinstance(size, int) else MTU
    if spec.unit == "bit/s":
        line = links * rate_bps * (1.0 if spec.name.startswith("delivered") else MTU / (MTU + 14))
        possible = rate_bps * (length - TCP_HEADERS) / (length + ETHERNET_HEADER)
    else:
        possible = line = rate_bps / (8 * (length + ETHERNET_HEADER))
    least_s = 0.15 if spec.name.startswith("ceiling") else 0.5
    above = figures(spec, 1.001 * line * (1 + LATE_S / least_s) + 1e-6)
    below = figures(spec, 0.999 * possible)
    (check,) = judge_truths(truths, below)
    assert check.passed, below
    (check,) = judge_truths(truths, above)
    assert not check.passed, (spec.name, above)
    assert spec.name in check.detail


def figures(spec: MetricSpec, value: float) -> list[Metric]:
    """The link's own have a direction."""
    labels = {"direction": "a to b"} if spec.name == "delivered_rate_bps" else {}
    return [Metric(spec.name, spec.unit, value, labels)]


def test_offered_rates_are_what_a_sender_does() -> None:
    names = {
        spec.name
        for one in installed_measurements().values()
        for spec in one.metrics
        if spec.offered
    }
    assert names == {
        "asked_rate_bps",
        "ceiling_sent_pps",
        "offered_bps",
        "offered_pps",
        "stream_bps",
        *(f"{rate}_{end}_pps" for rate in ("ndr", "pdr") for end in ("offered", "upper")),
    }
