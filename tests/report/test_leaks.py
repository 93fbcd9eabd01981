"""The leak matrix: VPN by phase, nothing and leaks by colour and by word."""

from __future__ import annotations

from io import StringIO

import polars as pl
import pytest
from rich.console import Console

from culvert.report.charts import figures
from culvert.report.model import Data
from culvert.report.terminal.summary import summary_of
from culvert.report.views.conclusion import conclusion
from culvert.report.views.leaks import Tightness, leak_matrices
from culvert.report.views.matrix import Cell, Matrix
from culvert.report.views.trust import trust

from .conftest import page_of
from .leak_run import leak_run
from .synthetic import make_run


@pytest.fixture(scope="module")
def data() -> Data:
    return leak_run().data


@pytest.fixture(scope="module")
def matrix(data: Data) -> Matrix:
    (found,) = leak_matrices(data).matrices
    return found


def cell(found: Matrix, vpn: str, phase: str) -> Cell:
    made = found.rows[found.heads.index(vpn)][found.columns.index(phase)]
    assert made is not None
    return made


def test_rows_are_vpns_and_columns_phases_in_order(matrix: Matrix) -> None:
    assert matrix.columns == ("run", "kill", "suspend")
    assert matrix.heads == ("tunnel", "tunnel+killswitch", "none")
    assert matrix.sentence == (
        "nothing 3, leaks 2, unsupported 3, no result 1 of 9 pairs of VPN and phase"
    )


def test_the_worst_trial_counts(matrix: Matrix) -> None:
    found = cell(matrix, "tunnel", "kill")
    assert (found.outcome, found.head) == (Tightness.LEAKS, "32 packets")
    assert found.lines == ("dns 2, ipv6 30", "2.5 ms to 1.2 s")


def test_nothing_says_of_how_many(matrix: Matrix) -> None:
    found = cell(matrix, "tunnel+killswitch", "kill")
    assert found.outcome is Tightness.NOTHING
    assert found.note == "0 packets leaked in 2 trials, of at least 50 messages"


def test_the_report_begins_with_it(data: Data) -> None:
    (found,) = conclusion(data, leak_matrices(data))
    assert (found.title, found.statements) == (
        "Beside the tunnel",
        (
            "tunnel: packets left, phase kill",
            "tunnel+killswitch: no packet left, phases run and kill",
            "none: packets left, phase run",
        ),
    )
    # In none of two trials with 0.05, at a share of 1 - 0.05 ** (1 / 2) = 0.776.
    assert found.note == (
        '"No packet left" is the result of 2 trials of each phase: a leak in 78 % of such trials '
        "would be seen with a probability of 95 %."
    )
    page = page_of(leak_run())
    assert "tunnel+killswitch: no packet left, phases run and kill" in page
    assert "No TCP, UDP, round trip or initiation" not in page


def test_what_was_not_measured_has_its_reason(matrix: Matrix) -> None:
    assert cell(matrix, "none", "kill") == Cell(
        Tightness.UNSUPPORTED, "unsupported", (), "none: it has no kill"
    )
    failed = cell(matrix, "tunnel", "suspend")
    assert (failed.outcome, failed.lines) == (Tightness.NO_RESULT, ("failed",))


def test_the_page_and_the_terminal_have_it(data: Data) -> None:
    page = page_of(leak_run())
    assert 'id="leaks"' in page
    assert "dns 2, ipv6 30" in page
    console = Console(file=StringIO(), width=200)
    console.print(summary_of(data))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "32 packets" in printed
    assert "dns 2, ipv6 30" in printed
    assert "Brackets" not in printed
    assert "brackets" not in printed


def test_the_badge_does_not_call_leaked_traffic_proved() -> None:
    run = leak_run()
    run.trials = run.trials.with_columns(evidence=pl.lit('{"proved": true}'))
    note = trust(run.data)
    assert note.title == "Every tunnel that counts proved; packets left beside it in 2 trials"
    run.rows = run.rows.filter(~((pl.col("vpn") == "tunnel") & (pl.col("value") > 0)))
    assert trust(run.data).title == "All traffic that counts proved in the tunnel"


def test_leaks_have_no_bars(data: Data) -> None:
    assert list(figures(data)) == []


def test_a_run_without_leaks_has_no_matrix() -> None:
    run = make_run(blocks=2)
    assert leak_matrices(run.data).matrices == ()
    assert 'id="leaks"' not in page_of(run)
