"""All that reports and comparisons know of a metric is declared, by third parties as by us."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

import polars as pl
import pytest
from pydantic import BaseModel

from culvert.analysis import declared
from culvert.errors import UsageError
from culvert.metrics import Better, HeadlineColumn, MetricSpec, Weight
from culvert.study import catalogue

from .frames import headlines, rows


class Silence:
    kind: ClassVar[str] = "silence"
    title: ClassVar[str] = "Silence of the underlay"
    summary: ClassVar[str] = "a third party's"
    headline: ClassVar[str] = "keepalives"
    Parameters: ClassVar[type[BaseModel]] = BaseModel
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "keepalives",
            "packets",
            "Keepalives",
            Better.LESS,
            Weight.MAIN,
            column=HeadlineColumn("Keepalives", key="tcp"),
        ),
        MetricSpec("reordered_packets", "packets", "Late keepalives"),
    )


class Old:
    kind: ClassVar[str] = "old"
    summary: ClassVar[str] = "made for another contract"
    Parameters: ClassVar[type[BaseModel]] = BaseModel
    metrics: ClassVar[object] = {"lag_ms": "ms"}


@pytest.fixture
def third_party(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    entries = [
        *entry_points(group=catalogue.GROUP),
        EntryPoint("silence", f"{__name__}:Silence", catalogue.GROUP),
        EntryPoint("old", f"{__name__}:Old", catalogue.GROUP),
        EntryPoint("gone", f"{__name__}:Gone", catalogue.GROUP),
    ]
    monkeypatch.setattr(catalogue, "entry_points", lambda group: entries)
    caches = (declared.measurements, declared._declared, declared._by_name)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("third_party")
def test_a_third_partys_declarations_count_like_our_own() -> None:
    assert declared.measurement_title("silence") == "Silence of the underlay"
    assert declared.better_of("keepalives", "silence") is Better.LESS
    assert "keepalives" in declared.compared_metrics()
    assert "keepalives" in declared.figures()
    assert declared.drawn_metrics("silence") == ("keepalives",)
    assert declared.title_of("keepalives", "silence") == "Keepalives"
    # Its own word counts for itself, and for nobody else.
    assert declared.better_of("reordered_packets", "silence") is Better.NEITHER
    assert declared.better_of("reordered_packets", "udp") is Better.LESS


@pytest.mark.usefixtures("third_party")
def test_a_third_partys_column_stands_behind_ours_under_a_key_of_its_own() -> None:
    kept = {"none": [1.0, 1.0], "a": [9.0, 9.5], "b": [4.0, 4.5]}
    frame = pl.concat(
        [
            rows(kept),
            rows(kept, measurement="silence", metric="keepalives", first_trial=50),
        ]
    )
    (found,) = headlines(frame, ["none", "a", "b"])
    assert [question.key for question in found.questions] == ["tcp", "silence.keepalives"]
    assert [found.winners[question.key].vpn for question in found.questions] == ["a", "b"]


@pytest.mark.usefixtures("third_party")
def test_what_cannot_be_loaded_is_an_error_to_a_study_and_none_to_a_report() -> None:
    assert {"tcp", "silence"} <= catalogue.usable_measurements().keys()
    assert not {"old", "gone"} & catalogue.usable_measurements().keys()
    with pytest.raises(UsageError, match="measurement gone"):
        catalogue.installed_measurements()
    with pytest.raises(UsageError, match="are not all MetricSpec"):
        catalogue._load(EntryPoint("old", f"{__name__}:Old", catalogue.GROUP))


def test_without_the_measurement_names_that_others_declare_keep_their_direction() -> None:
    assert declared.measurement_title("tcp_service") == "tcp service"
    assert declared.better_of("goodput_bps", "tcp_service") is Better.MORE
    assert declared.better_of("keepalives", "silence") is Better.NEITHER
    assert declared.title_of("keepalives", "silence") == "keepalives"
    assert declared.title_of("rtt_idle_p50_us", "silence") == "rtt idle p50"


def test_a_column_needs_a_better_side() -> None:
    with pytest.raises(ValueError, match="declare which is better"):
        MetricSpec("lag_ms", "ms", "Lag", column=HeadlineColumn("Lag"))
