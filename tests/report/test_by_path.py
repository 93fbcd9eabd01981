"""Cells that lost a host: their figures by path, in no figure over all paths."""

from __future__ import annotations

import io
import json

import polars as pl
from rich.console import Console

from culvert.report.terminal.summary import summary_of
from culvert.report.views.by_path import by_path_table
from culvert.report.views.trust import trust

from .conftest import page_of
from .synthetic import Run, make_run
from .truths import TCP

HERE, THERE = '{"path":"a>b"}', '{"path":"c>d"}'
VPN = "wireguard/go"


def run_of_two_paths(*, lost: tuple[int, ...] = ()) -> Run:
    """Each figure three times: of both paths, and over both; in the blocks ``lost`` of c>d only,
    for one VPN."""
    run = make_run(blocks=4, measurements=(("tcp", TCP),), faults=False)
    plain = run.rows.filter(pl.col("labels") == "{}")
    by_path = [plain.with_columns(labels=pl.lit(path)) for path in (HERE, THERE)]
    without = (pl.col("vpn") == VPN) & pl.col("block").is_in(list(lost))
    kept = pl.concat([run.rows, *by_path]).filter(~without | (pl.col("labels") == THERE))
    run.rows = kept
    part = run.trials.with_columns(evidence=evidence(run, part=["c>d"]))
    failed = run.trials.filter(without).with_columns(
        status=pl.lit("failed"),
        reason=pl.lit("host b: is silent"),
        trial=pl.col("trial") + 1000,
        evidence=pl.lit(json.dumps({"host_lost": True, "missing_paths": ["a>b"]})),
    )
    run.trials = pl.concat([run.trials.filter(~without), part.filter(without), failed])
    return run


def evidence(run: Run, **more: object) -> pl.Series:
    return pl.Series(
        [json.dumps({**json.loads(text or "{}"), **more}) for text in run.trials["evidence"]]
    )


def test_a_run_that_lost_nothing_has_no_such_table() -> None:
    assert by_path_table(run_of_two_paths().data).rows == ()
    assert "Cells that lost a host" not in page_of(run_of_two_paths())


def test_each_path_has_its_median_and_its_blocks() -> None:
    data = run_of_two_paths(lost=(2, 4)).data
    rows = by_path_table(data).rows
    assert [row[0] for row in rows] == [VPN] * 3
    assert [(row[3], row[5], row[6]) for row in rows] == [
        ("a>b", "2", "2"),
        ("c>d", "4", "0"),
        ("all paths", "2", "2"),
    ]
    assert "Cells that lost a host" in page_of(run_of_two_paths(lost=(2, 4)))


def test_a_path_that_was_never_measured_is_named() -> None:
    rows = by_path_table(run_of_two_paths(lost=(1, 2, 3, 4)).data).rows
    assert [(row[3], row[5], row[6]) for row in rows] == [
        ("a>b", "0", "4"),
        ("c>d", "4", "0"),
        ("all paths", "0", "4"),
    ]
    assert rows[0][4] == rows[2][4] == "\u2013"


def test_no_figure_over_all_paths_has_such_a_trial() -> None:
    whole, partly = (run_of_two_paths(lost=lost).data for lost in ((), (2, 4)))
    for data, blocks in ((whole, {1, 2, 3, 4}), (partly, {1, 3})):
        counted = data.observed.filter(vpn=VPN, labels="{}")
        assert set(counted["block"]) == blocks


def test_the_terminal_and_the_badge_name_them() -> None:
    data = run_of_two_paths(lost=(2,)).data
    console = Console(file=io.StringIO(), width=160)
    console.print(summary_of(data))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "Cells that lost a host, path by path" in shown
    assert "1 of them lost a host and count for some of their paths only" in trust(data).detail


def test_the_badge_counts_no_part_that_does_not_count_itself() -> None:
    run = run_of_two_paths(lost=(2, 4))
    invalid = (pl.col("vpn") == VPN) & (pl.col("block") == 4)
    run.trials = run.trials.with_columns(
        status=pl.when(invalid).then(pl.lit("invalid")).otherwise("status")
    )
    assert "; 1 of them lost a host" in trust(run.data).detail
