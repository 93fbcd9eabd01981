"""Sizes of a study: what they stand for, and what is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from culvert.measurements.base import Measurement
from culvert.measurements.kubernetes.k8s_api import K8sApi
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.udp.packet_sizes import LARGEST, LONGEST, PacketSizes, Sizes, parse_sizes
from culvert.measurements.udp.throughput import Throughput
from culvert.measurements.udp.udp import Udp
from culvert.trial.outside import LONG_RUN

SIZES: TypeAdapter[int | str] = TypeAdapter(Sizes)
MTU = 1420


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (64, [64]),
        ("64", [64]),
        ("max", [MTU]),
        ("64,512,max", [64, 512, MTU]),
        ("7:4:1 of 64,570,1518", [64] * 7 + [570] * 4 + [1518]),
        ("imix", [64] * 7 + [570] * 4 + [MTU]),
        ("2a1g", [64, 64, 1518]),
        ("aaz", [64, 64, MTU]),
        ("64..300 step 100", [64, 164, 264]),
        ("512,512", [512]),
    ],
)
def test_what_a_size_stands_for(asked: int | str, sizes: list[int]) -> None:
    found = parse_sizes(asked)
    assert list(found.resolved(MTU)) == sizes
    assert found.needs_max == (MTU in sizes)
    assert SIZES.validate_python(asked) == asked


@pytest.mark.parametrize(
    "wrong",
    [
        *(63, LARGEST + 1, -64, "", "huge", "64,", "64,63", "7:4 of 64,570,1518", "0:1 of 64,65"),
        *("x:1 of 64,65", "1:1 of 64,big", f"{LONGEST}:1 of 64,65", "9" * 30 + "a", "7", "7a4"),
        *("100..64 step 1", "64..100 step 0", "64..max step 1", "k", "64..65535 step 1", "\u0662"),
    ],
)
def test_what_is_no_size_is_refused_with_a_remedy(wrong: int | str) -> None:
    with pytest.raises(ValidationError) as refused:
        SIZES.validate_python(wrong)
    assert "remedy" in refused.value.errors()[0]["ctx"]


@given(st.integers() | st.text() | st.from_regex(r"[0-9:,.a-zof ]{0,20}", fullmatch=True))
def test_any_text_is_read_or_refused(text: int | str) -> None:
    try:
        found = parse_sizes(text)
    except ValueError:
        return
    assert 0 < len(found.pattern) <= LONGEST
    assert all(64 <= size <= LARGEST for size in found.resolved(MTU))


def test_the_largest_is_asked_for_only_where_it_is_used() -> None:
    assert not PacketSizes((64,)).needs_max
    assert PacketSizes((64, "max")).resolved(1500) == (64, 1500)


@pytest.mark.parametrize(
    ("measurement", "written", "run"),
    [
        (Udp, {"packet_size": "64,512,max"}, 8),
        (Udp, {"packet_size": "max"}, LONG_RUN),
        (Throughput, {"packet_size": 512}, 456),
        (Tcp, {}, LONG_RUN),
        (K8sApi, {}, 0),
    ],
)
def test_the_smallest_packet_decides_how_closely_captures_search(
    measurement: type[Measurement[Any]], written: Mapping[str, object], run: int
) -> None:
    parameters = measurement.Parameters.model_validate(written)
    assert measurement.marked_run(parameters) == run
