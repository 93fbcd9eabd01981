"""Quantities: exact in both directions, clear about what is wrong."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError

from culvert import units
from culvert.units import (
    DurationNs,
    DurationS,
    Fraction,
    PerSecond,
    QuantityError,
    RateBps,
    SizeBytes,
)


class Everything(BaseModel):
    rate_bps: RateBps
    duration_s: Annotated[DurationS, Field(gt=0)]
    duration_ns: DurationNs
    size_bytes: SizeBytes
    share: Fraction
    probes_per_s: PerSecond | None = None


GOOD = {
    "rate_bps": "1Gbit/s",
    "duration_s": "2.5s",
    "duration_ns": "50ms",
    "size_bytes": "64kB",
    "share": "0.25%",
    "probes_per_s": "1000/s",
}


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("5s", 5_000_000_000),
        ("50ms", 50_000_000),
        (" 2.5 s ", 2_500_000_000),
        ("20min", 1_200_000_000_000),
        ("1h", 3_600_000_000_000),
        ("7us", 7_000),
        ("7µs", 7_000),
        ("0s", 0),
    ],
)
def test_durations_are_read(text: str, nanoseconds: int) -> None:
    assert units.parse_duration_ns(text) == nanoseconds


def test_rates_sizes_and_events() -> None:
    assert units.parse_rate_bps("1Gbit/s") == 10**9
    assert units.parse_rate_bps("2.5 Mbit/s") == 2_500_000
    assert units.parse_size_bytes("64 kB") == 64_000
    assert units.parse_size_bytes("64KiB") == 65_536
    assert units.parse_per_second("1000/s") == 1000
    assert units.parse_per_second("0.5/s") == 0.5
    assert units.parse_fraction("1%") == 0.01


@pytest.mark.parametrize(
    ("parse", "text", "why", "remedy"),
    [
        (units.parse_duration_ns, "5", "no unit", '"5s"'),
        (units.parse_duration_ns, "-5s", "not a duration", '"5s"'),
        (units.parse_duration_ns, "5 fortnights", '"fortnights" is not a unit', '"5s"'),
        (units.parse_duration_ns, "0.5ns", "finer than 1 ns", "whole ns"),
        (units.parse_duration_ns, "31d", "more than 30 days", "shorter"),
        (units.parse_duration_ns, "5S", "is not a unit", 'did you mean "s"?'),
        (units.parse_rate_bps, "1gbit/s", "is not a unit", 'did you mean "Gbit/s"?'),
        (units.parse_rate_bps, "99999999999Gbit/s", "too large", "Gbit/s"),
        (units.parse_size_bytes, "1.5B", "finer than 1 B", "whole B"),
        (units.parse_fraction, "101%", "more than the whole", "100%"),
        (units.parse_fraction, "0.1", "no unit", '"1%"'),
        (units.parse_per_second, "1000", "no unit", '"1000/s"'),
        (units.parse_per_second, "", "not a rate of events", '"1000/s"'),
        (units.parse_rate_bps, "\u0661Gbit/s", "not a rate", "Gbit/s"),
    ],
)
def test_what_is_wrong_is_said(parse: object, text: str, why: str, remedy: str) -> None:
    assert callable(parse)
    with pytest.raises(QuantityError) as caught:
        parse(text)
    assert why in caught.value.why
    assert remedy in caught.value.remedy


@given(st.integers(0, 30 * 86400 * units.NS_PER_S))
def test_durations_round_trip(duration_ns: int) -> None:
    assert units.parse_duration_ns(units.format_duration(duration_ns)) == duration_ns


@given(st.integers(0, 2**63 - 1))
def test_rates_and_sizes_round_trip(value: int) -> None:
    assert units.parse_rate_bps(units.format_rate(value)) == value
    assert units.parse_size_bytes(units.format_size(value)) == value


@given(st.decimals(0, 100, places=8))
def test_fractions_round_trip(per_cent: Decimal) -> None:
    fraction = units.parse_fraction(f"{per_cent:f}%")
    assert fraction == float(per_cent / 100)
    assert units.parse_fraction(units.format_fraction(fraction)) == fraction


@given(st.decimals("0.001", 10**9, places=3))
def test_events_round_trip(per_second: Decimal) -> None:
    value = units.parse_per_second(f"{per_second:f}/s")
    assert units.parse_per_second(units.format_per_second(value)) == value


def test_formats_are_short() -> None:
    assert units.format_duration(2_500_000_000) == "2.5s"
    assert units.format_duration(90_000_000_000) == "90s"
    assert units.format_rate(10**9) == "1Gbit/s"
    assert units.format_size(131_072) == "128KiB"
    assert units.format_fraction(0.02) == "2%"
    assert units.format_per_second(1000.0) == "1000/s"


@given(st.text())
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    for parse in (
        units.parse_duration_ns,
        units.parse_rate_bps,
        units.parse_size_bytes,
        units.parse_per_second,
        units.parse_fraction,
    ):
        try:
            good = parse(text) >= 0
        except QuantityError as error:
            good = bool(error.why and error.remedy)
        assert good


def test_a_model_has_numbers_inside_and_units_outside() -> None:
    model = Everything.model_validate(GOOD)
    assert (model.rate_bps, model.duration_s, model.duration_ns) == (10**9, 2.5, 50_000_000)
    assert (model.size_bytes, model.share, model.probes_per_s) == (64_000, 0.0025, 1000)
    assert model.model_dump(mode="json") == GOOD
    assert Everything.model_validate_json(model.model_dump_json()) == model


@given(st.integers(1, 30 * 86400 * units.NS_PER_S))
def test_seconds_keep_every_nanosecond(duration_ns: int) -> None:
    text = units.format_duration(duration_ns)
    model = Everything.model_validate(GOOD | {"duration_s": text})
    assert model.model_dump(mode="json")["duration_s"] == text


@pytest.mark.parametrize("value", [5, 0.5, True, ["5s"], "0s", "5"])
def test_a_model_refuses_what_has_no_unit_or_is_out_of_range(value: object) -> None:
    with pytest.raises(ValidationError):
        Everything.model_validate(GOOD | {"duration_s": value})
