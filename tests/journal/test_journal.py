"""What goes into the journal comes out of it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from culvert.errors import CulvertError, JournalError, UsageError
from culvert.journal.frames import ROWS_SCHEMA
from culvert.journal.journal import Journal
from culvert.journal.record import InstallRecord, RunHead, TrialRecord
from culvert.results import MOST_FIGURE, Histogram, Metric, Series, Status, is_figure
from tests.journal.dummies import HEAD, WHEN, encoded, failed, trial
from tests.study.dummies import HEAD as STUDY
from tests.study.dummies import UDP, parse

TEXT = st.text(max_size=12)
FIGURE = st.floats(-MOST_FIGURE, MOST_FIGURE).filter(is_figure)
LABELS = st.dictionaries(TEXT, TEXT, max_size=2)
HISTOGRAM = st.lists(st.integers(1, 10**9), max_size=3).map(encoded)


@st.composite
def series(draw: st.DrawFn) -> Series:
    points = draw(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), FIGURE), max_size=20))
    return Series(
        draw(TEXT), draw(TEXT), [t for t, _ in points], [v for _, v in points], draw(LABELS)
    )


RECORDS = st.builds(
    TrialRecord,
    block=st.integers(1, 10**6),
    position=st.integers(1, 10**4),
    cell_key=TEXT,
    vpn=TEXT,
    condition=TEXT,
    measurement=TEXT,
    parameters=st.just("{}"),
    status=st.sampled_from(Status),
    started_at=st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
    duration_s=FIGURE,
    measuring_s=FIGURE,
    version=TEXT,
    reason=TEXT,
    remedy=TEXT,
    evidence=st.dictionaries(TEXT, st.none() | st.booleans() | FIGURE | TEXT, max_size=3),
    metrics=st.lists(st.builds(Metric, TEXT, TEXT, FIGURE, LABELS), max_size=4),
    series=st.lists(series(), max_size=2),
    histograms=st.lists(st.builds(Histogram, TEXT, TEXT, HISTOGRAM, LABELS), max_size=2),
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RECORDS, max_size=6, unique_by=lambda one: (one.block, one.cell_key)))
def test_whatever_is_recorded_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[TrialRecord]
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    with Journal.create(directory, HEAD) as journal:
        assert [journal.record(one) for one in records] == list(range(1, len(records) + 1))
    with Journal.open(directory) as journal:
        assert journal.done() == {(one.block, one.cell_key) for one in records}
        trials = journal.trials()
        assert trials["reason"].to_list() == [one.reason for one in records]
        assert trials["vpn"].to_list() == [one.vpn for one in records]
        assert trials["status"].to_list() == [one.status for one in records]
        assert trials["duration_s"].to_list() == [one.duration_s for one in records]
        rows = journal.rows()
        assert (
            rows["value"].to_list()
            == [
                metric.value for one in records for metric in (one.metrics or [Metric("", "", 0.0)])
            ]
            or None in rows["value"].to_list()
        )
        assert rows.filter(pl.col("metric").is_not_null())["value"].to_list() == [
            metric.value for one in records for metric in one.metrics
        ]
        kept = journal.series()
        wanted = [each for one in records for each in one.series]
        assert kept["t_ns"].to_list() == [list(each.t_ns) for each in wanted]
        assert kept["value"].to_list() == [list(each.values) for each in wanted]
        assert journal.histograms()["hdr_v2"].to_list() == [
            each.hdr_v2 for one in records for each in one.histograms
        ]


def test_rows_have_exactly_these_columns(tmp_path: Path) -> None:
    columns = [
        *("study", "block", "trial", "vpn", "version", "condition", "measurement"),
        *("parameters", "metric", "labels", "unit", "value", "status", "reason"),
    ]
    assert list(ROWS_SCHEMA) == columns
    with Journal.create(tmp_path, HEAD) as journal:
        empty = journal.rows()
        journal.record(trial(0))
        journal.record(failed(1))
        rows = journal.rows()
    assert rows.columns == empty.columns == columns
    assert rows.schema == empty.schema
    assert rows.rows()[0] == (
        *("s", 1, 1, "none", "1.2", "clean", "udp", '{"packet_size":64}', "goodput_bps"),
        *("{}", "bit/s", 1e9 / 3, "ok", ""),
    )
    assert rows["labels"][1] == '{"node":"a","process":"\\u00e9"}'
    assert rows.rows()[2][8:] == (None, "{}", None, None, "failed", "it died")
    assert len(rows) == 3


def test_warm_up_blocks_are_trials_but_no_rows(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(replace(trial(0), block=0))
        journal.record(trial(0))
        assert journal.trials()["block"].to_list() == [0, 1]
        assert journal.rows()["block"].unique().to_list() == [1]
        assert journal.figures({"udp": "goodput_bps"}) == {"cell0": {1: 1e9 / 3}}


def test_figures_are_those_of_good_trials(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        for one in (trial(0), failed(1), replace(trial(2), status=Status.INVALID), trial(4)):
            journal.record(one)
        assert journal.figures({"udp": "goodput_bps", "tcp": "x"}) == {
            "cell0": {1: 1e9 / 3, 2: 1e9 / 7}
        }
        assert journal.measured_s() == sum(2.5 + number for number in (0, 1, 2, 4))


def test_the_run_is_described(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record_install(InstallRecord("x", "role", 1.5, changed=True, ok=False, at=WHEN))
        assert journal.run()["ended_at"] is None
        journal.finish("all blocks are measured")
        run = journal.run()
    assert (run["study"], run["toml"], run["seed"], run["lab"]) == ("s", HEAD.toml, 1, "netns")
    assert run["environment"] == {"kernel": "6.1", "load": [0.5, None]}
    assert run["started_at"] <= run["ended_at"]
    assert run["ended_why"] == "all blocks are measured"
    (install,) = run["installs"]
    assert install == {
        "vpn": "x",
        "role": "role",
        "duration_s": 1.5,
        "changed": True,
        "version": "",
        "ok": False,
        "at": "2026-01-02T03:04:05.000678+00:00",
    }


def test_times_are_kept_in_utc(tmp_path: Path) -> None:
    east = WHEN.astimezone(timezone(timedelta(hours=9)))
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(replace(trial(0), started_at=east))
        assert journal.trials()["started_at"][0] == "2026-01-02T03:04:05.000678+00:00"


def test_a_head_is_made_of_a_study() -> None:
    study = parse(STUDY + UDP)
    head = RunHead.of(study, lab="netns", culvert_version="1", environment={})
    assert (head.study, head.toml, head.digest) == ("s", STUDY + UDP, study.digest)


def test_a_lone_surrogate_in_a_foreign_log_does_no_harm(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(replace(failed(0), reason="a\ud800b\0c", evidence={"x": "\udcff"}))
    with Journal.open(tmp_path) as journal:
        assert journal.trials()["reason"][0] == "a?b\0c"


def test_minus_zero_does_no_harm(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(replace(trial(0), duration_s=-0.0, metrics=[Metric("x", "s", -0.0)]))
    with Journal.open(tmp_path) as journal:
        assert journal.rows()["value"].to_list() == [0.0]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308, -1.1e18, -1e-31])
def test_what_is_no_figure_is_refused(value: float) -> None:
    with pytest.raises(CulvertError, match="is no figure"):
        Metric("x", "s", value)
    with pytest.raises(CulvertError, match="is no figure"):
        Series("x", "s", [0, 1], [1.0, value])


def test_a_series_has_as_many_times_as_values() -> None:
    with pytest.raises(CulvertError, match="2 times and 1 values"):
        Series("x", "s", [1, 2], [1.0])


def test_a_trial_is_recorded_once(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
        with pytest.raises(JournalError, match="refuses a row"):
            journal.record(trial(0))
        assert journal.record(trial(1)) == 2
    with Journal.open(tmp_path) as journal:
        assert len(journal.trials()) == 2


def test_a_reader_sees_what_a_live_run_has_measured(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
        with Journal.open(tmp_path) as reader:
            assert len(reader.trials()) == 1
            journal.record(trial(1))
            assert len(reader.trials()) == 1  # one state for all that a command reads
            with pytest.raises(UsageError, match="open for reading"):
                reader.record(trial(2))
        with Journal.open(tmp_path) as reader:
            assert len(reader.trials()) == 2


def test_a_run_that_began_and_ended_between_two_reads_is_noticed(tmp_path: Path) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
    with Journal.open(tmp_path) as reader:
        with Journal.resume(tmp_path, HEAD) as journal:
            journal.record(trial(1))
        with pytest.raises(JournalError, match="during reading"):
            reader.trials()


def test_a_read_only_directory_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal.create(tmp_path, HEAD) as journal:
        journal.record(trial(0))
    # Root may write anywhere, so the question is answered for it.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with Journal.open(tmp_path) as journal:
        assert len(journal.trials()) == 1
