"""The NAT matrices: each pair at both places, results by colour and by word."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from culvert.report.charts import figures
from culvert.report.model import Data
from culvert.report.terminal.matrix import matrices_text
from culvert.report.terminal.summary import summary_of
from culvert.report.views.matrix import Cell, Matrix
from culvert.report.views.nat_matrix import Way, nat_matrices
from culvert.topology.nat import Access

from .conftest import page_of
from .nat_run import nat_run
from .synthetic import make_run


@pytest.fixture(scope="module")
def data() -> Data:
    return nat_run().data


def matrix(data: Data, vpn: str) -> Matrix:
    (found,) = (one for one in nat_matrices(data).matrices if one.title == vpn)
    return found


def cell(found: Matrix, row: Access, column: Access) -> Cell:
    kinds = found.columns
    made = found.rows[kinds.index(row)][kinds.index(column)]
    assert made is not None
    return made


def test_each_pair_is_at_both_places(data: Data) -> None:
    for one in nat_matrices(data).matrices:
        assert one.columns == tuple(Access)
        for row in range(len(one.columns)):
            for column in range(row):
                assert one.rows[row][column] is one.rows[column][row]


def test_cells_have_the_way_and_its_figures(data: Data) -> None:
    found = matrix(data, "mesh/direct")
    direct = cell(found, Access.NONE, Access.CGNAT)
    assert (direct.outcome, direct.lines) == (
        Way.DIRECT,
        ("13 ms", "direct after 2.4 s", "94.2 Mbit/s"),
    )
    relayed = cell(found, Access.UDP_BLOCKED, Access.NONE)
    assert (relayed.outcome, relayed.lines) == (Way.RELAYED, ("13 ms", "94.2 Mbit/s"))
    assert found.sentence == "direct 20, relayed 8 of 28 pairs"
    assert found.detail == "1.2.3"


def test_a_path_that_was_direct_at_once_did_not_become_direct(data: Data) -> None:
    assert cell(matrix(data, "lone"), Access.NONE, Access.NONE).lines == ("13 ms", "94.2 Mbit/s")


def test_nothing_mixed_and_failed_are_told_apart(data: Data) -> None:
    found = matrix(data, "lone")
    nothing = cell(found, Access.SYMMETRIC, Access.UDP_BLOCKED)
    assert (nothing.outcome, nothing.lines) == (Way.NO_PATH, ())
    mixed = cell(found, Access.SYMMETRIC, Access.SYMMETRIC)
    assert (mixed.outcome, mixed.head) == (Way.MIXED, "direct 1/2")
    assert mixed.lines[0] == "no path 1/2"
    failed = cell(found, Access.NONE, Access.CGNAT)
    assert (failed.outcome, failed.lines) == (Way.NO_RESULT, ("failed",))
    assert failed.note == "lone: absentd ended with code 1"


def test_a_vpn_that_is_not_installed_has_its_reason(data: Data) -> None:
    assert nat_matrices(data).missing == ("absent: missing: absentd",)


def test_the_legend_has_what_occurs(data: Data) -> None:
    assert [word for _, word, _ in nat_matrices(data).legend] == list(map(str, Way))


def test_the_page_has_the_matrices_instead_of_a_section_for_each_pair(data: Data) -> None:
    page = page_of(nat_run())
    assert page.count('<table class="ways">') == 3
    assert page.count('class="way relayed"') == 1 + 2 * 6 + 2  # legend; two are on the diagonal
    assert "Headline: nat." not in page
    assert list(figures(data)) == []


def test_other_runs_have_none() -> None:
    run = make_run()
    assert nat_matrices(run.data).conditions == frozenset()
    assert 'id="nat-matrix"' not in page_of(run)


def test_the_terminal_names_each_result(data: Data) -> None:
    out = StringIO()
    Console(file=out, width=160).print(matrices_text(nat_matrices(data)), summary_of(data))
    text = out.getvalue()
    assert text.count("direct 20, relayed 8 of 28 pairs") == 2
    for words in ("no path", "direct 1/2", "no result", "94.2 Mbit/s", "absent: missing: absentd"):
        assert words in text
