"""The published data against the printed paper: all 84 rows, and both tests."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from culvert.analysis.claims.verdict import Verdict
from culvert.journal.journal import Journal
from culvert.journal.papers.kjorveziroski2024.order import (
    ORDER_10,
    ORDER_100,
    ORDER_ZEROTIER_RELAY_250MS,
    number_in_time,
    recognised,
)
from culvert.journal.papers.kjorveziroski2024.published import published_tables
from culvert.journal.papers.kjorveziroski2024.runs import cells
from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.knb import read as read_knb
from culvert.journal.readers.naming import Naming
from culvert.report.html.page import render
from culvert.report.model import Data, read
from culvert.report.views.paper import paper_tables
from culvert.run.importing import ImportRequest, import_files

from .published import DATA, needs_data, printed_rows

pytestmark = needs_data
COLUMNS = ("mean", "sd", "cv", "times_1450", "times_1230")


@pytest.fixture(scope="module")
def knb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("knb") / "run"
    import_files(ImportRequest(ForeignFormat.KNB, [DATA / "all-merged.csv"], out, Naming(), ""))
    return out


def tables_of(directory: Path) -> dict[str, pl.DataFrame]:
    with Journal.open(directory) as journal:
        return published_tables(journal.trials(), journal.rows())


@pytest.fixture(scope="module")
def tables(knb: Path) -> dict[str, pl.DataFrame]:
    return tables_of(knb)


def test_every_row_of_both_tables_to_the_last_printed_digit(knb: Path) -> None:
    rows = printed_rows()
    assert Counter(row.table for row in rows) == {"A1": 42, "A2": 42}
    wrong = []
    for table, name in (("A1", "a1-tcp"), ("A2", "a2-udp")):
        ours = pl.read_csv(knb / "tables" / f"kjorveziroski2024-{name}.csv")
        by_row = {(row["test"], row["condition"]): row for row in ours.iter_rows(named=True)}
        assert len(by_row) == 42
        for printed in (row for row in rows if row.table == table):
            got = by_row[printed.test, printed.condition]
            for column, text in zip(COLUMNS, printed.figures, strict=True):
                digits = len(text.partition(".")[2])
                if f"{got[column]:.{digits}f}" != text:
                    wrong.append((printed, column, got[column]))
    assert not wrong


def test_dropped_runs_are_counted_and_named(knb: Path, tables: dict[str, pl.DataFrame]) -> None:
    with Journal.open(knb) as journal:
        trials = journal.trials()
    counts = dict(trials.group_by("status").len().iter_rows())
    assert counts == {"ok": 4757, "failed": 39, "invalid": 4}
    assert all(trials.filter(pl.col("status") != "ok")["reason"])
    left_out = sum(
        sum(tables[f"kjorveziroski2024-{name}"]["dropped"]) for name in ("a1-tcp", "a2-udp")
    )
    baselines = 1  # native-mtu1450, UDP, 350 ms
    assert left_out + baselines == 26


def test_the_paper_s_p_of_0_39_and_what_it_does_not_say(data: Data) -> None:
    (row,) = data.comparisons.filter(
        pl.col("a") == "netbird/direct",
        pl.col("b") == "none",
        condition="clean",
        measurement="tcp",
        metric="goodput_bps",
    ).iter_rows(named=True)
    assert f"{row['p']:.2f}" == "0.39"
    assert row["p_holm"] >= row["p"]
    assert 0.98 < row["ratio_low"] < 1 < row["ratio_high"] < 1.01


def test_the_requests_of_the_api_are_read_and_judged_by_run(tmp_path: Path) -> None:
    folders = sorted((DATA / "k8s-api").iterdir())
    done = import_files(
        ImportRequest(ForeignFormat.HEY, folders, tmp_path / "run", Naming(), "clean")
    )
    assert [(lost.file, lost.line) for lost in done.lost] == [
        ("01-native-mtu1230/k8s-api-benchmark-run8.csv", 4701),
        ("02-native-mtu1450/k8s-api-benchmark-run3.csv", 4928),
    ]
    data = read(tmp_path / "run")
    verdicts = {one.id: one.verdict for one in data.claims.judged}
    assert verdicts["api-baselines-alike"] is Verdict.SUPPORTED
    assert verdicts["native-tcp-mtu1450-first"] is Verdict.NOT_TESTABLE


@pytest.fixture(scope="module")
def data(knb: Path) -> Data:
    return read(knb)


def test_the_paper_s_claims_are_judged_by_its_own_data(data: Data) -> None:
    found = {one.id: one for one in data.claims.judged}
    untestable = {name for name, one in found.items() if one.verdict is Verdict.NOT_TESTABLE}
    assert untestable == {name for name in found if name.startswith("api-")} | {
        "zerotier-slow-to-relay",
        "headscale-relays-at-once",
        "headscale-direct-again-at-once",
    }
    assert {name for name, one in found.items() if one.verdict is Verdict.CONTRADICTED} >= {
        "tcp-loss-1-tcp-relays-lead",
        "tcp-loss-1-tcp-relays-double",
        "tcp-delay-50ms-zerotier-least-cpu",
    }
    assert found["native-tcp-netbird-as-baseline"].verdict is Verdict.SUPPORTED
    assert not any(part.paired for one in found.values() for part in one.parts)
    # Both are of the same runs, so that mean and median differ little; the API is not in the table.
    measured = [one for one in data.claims.beside if one.measured is not None]
    assert len(measured) >= 84
    steady = [one for one in measured if one.n >= 90 and one.ratio is not None]
    assert all(abs((one.ratio or 0) - 1) < 0.1 for one in steady)


def test_the_page_shows_the_tables(data: Data) -> None:
    assert [len(one.table.rows) for one in paper_tables(data)] == [42, 42]
    first = paper_tables(data)[0].table.rows[0]
    assert first == (
        *("Headscale direct", "Native", "100", "", "217.92", "2.49", "0.01", "3.53", "3.26"),
    )
    assert "Table A2: UDP, Mbit/s" in render(data, [])


def test_names_of_the_user_come_first(tmp_path: Path) -> None:
    naming = Naming.parse([], "12-native-mtu1450")
    out = tmp_path / "run"
    import_files(ImportRequest(ForeignFormat.KNB, [DATA / "all-merged.csv"], out, naming, ""))
    with Journal.open(out) as journal:
        vpns = set(journal.trials()["vpn"])
    assert {"none", "none/native-mtu1230", "netbird-direct"} < vpns


def test_drift_shows_only_in_the_order_of_time(data: Data) -> None:
    (udp,) = data.summary.filter(
        vpn="zerotier/tcp-relay", condition="clean", measurement="udp", metric="goodput_bps"
    ).iter_rows(named=True)
    assert udp["drifts"]
    assert udp["lag1"] > 0.7
    assert udp["effective_n"] < 10


def test_numbers_in_time_are_permutations() -> None:
    for order in (ORDER_100, ORDER_10, ORDER_ZEROTIER_RELAY_250MS):
        assert sorted(order) == list(range(1, len(order) + 1))


def test_only_the_published_rows_are_recognised() -> None:
    runs = read_knb(DATA / "all-merged.csv").runs
    assert recognised(runs)
    assert not recognised([*runs, replace(runs[0], name="mine")])
    assert not recognised([replace(run, reported={}) for run in runs])
    assert not recognised([])
    assert number_in_time(runs[0], 3, 7) == 3  # rows are missing: nothing is known


def test_other_journals_have_no_such_table(knb: Path) -> None:
    with Journal.open(knb) as journal:
        trials, rows = journal.trials(), journal.rows()
    renamed = trials.with_columns(pl.col("evidence").str.replace("-netbird-", "-other-"))
    assert cells(renamed, rows) == {}
    shuffled = trials.sample(fraction=1, shuffle=True, seed=random.Random(1).randrange(2**32))
    assert cells(shuffled, rows).keys() == cells(trials, rows).keys()
