"""The framework's cells: verified before documented before unknown, never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.features.criteria import MEANINGS, PARTS, Criterion
from culvert.features.framework import Driven, Row, derived, framework
from culvert.features.known import UNKNOWN, Answer, Cell, Known, Standing, known
from culvert.features.record import Record

YES = Cell(Standing.DOCUMENTED, Answer.YES, "a document")
NO = Cell(Standing.DOCUMENTED, Answer.NO, "a document")
SEEN = Cell(Standing.VERIFIED, Answer.NO, "a test")
INSTALLED = Driven("mesh", {"mesh/direct": "1.2", "mesh/relay": "1.2"})


def record(holds: bool | None, *, vpn: str = "mesh/direct", version: str = "1.2") -> Record:
    return Record(
        vpn, Criterion.RELAY, "a-test", holds, "a detail", version, "6.1", "2026-11-22T04:00:00"
    )


def row(records: list[Record], documented: dict[Criterion, Cell] | None = None) -> Row:
    found = Known("Mesh", {Criterion.RELAY: Answer.YES}, documented or {})
    (made,) = framework({"mesh": found}, [INSTALLED], records)
    return made


def test_every_criterion_has_a_meaning() -> None:
    assert list(MEANINGS) == list(Criterion)


def test_a_test_goes_before_a_document_and_the_paper() -> None:
    made = row([record(holds=False)], {Criterion.RELAY: YES})
    cell = made.cells[Criterion.RELAY]
    assert (cell.standing, cell.answer) == (Standing.VERIFIED, Answer.NO)
    assert cell.source == "a-test with mesh/direct 1.2, 2026-11-22, kernel 6.1"
    assert made.differs(Criterion.RELAY)


def test_one_variant_is_enough() -> None:
    made = row([record(holds=False), record(holds=True, vpn="mesh/relay")])
    assert made.cells[Criterion.RELAY].answer is Answer.YES
    assert "mesh/relay" in made.cells[Criterion.RELAY].source
    assert not made.differs(Criterion.RELAY)


def test_another_version_verifies_nothing() -> None:
    cell = row([record(holds=False, version="1.1")]).cells[Criterion.RELAY]
    assert (cell.standing, cell.answer) == (Standing.DOCUMENTED, Answer.YES)
    assert "1.1: verify again" in cell.note


def test_a_test_that_could_not_decide_is_mentioned() -> None:
    cell = row([record(None)], {Criterion.RELAY: YES}).cells[Criterion.RELAY]
    assert (cell.standing, cell.source) == (Standing.DOCUMENTED, "a document")
    assert "could not decide it: a detail" in cell.note


def test_a_test_of_another_vpn_verifies_nothing() -> None:
    cell = row([record(holds=False, vpn="meshes/direct")]).cells[Criterion.RELAY]
    assert cell.source == "kjorveziroski2024, table 1"


def test_a_vpn_that_only_a_driver_knows_is_unknown() -> None:
    (made,) = framework({}, [INSTALLED], [])
    assert set(made.cells.values()) == {UNKNOWN}
    assert made.paper is None


@given(st.lists(st.sampled_from([UNKNOWN, YES, NO, SEEN]), min_size=4, max_size=4))
def test_the_connectivity_options_are_the_conjunction_of_their_parts(cells: list[Cell]) -> None:
    found = derived(dict(zip(PARTS, cells, strict=True)))
    answers = {cell.answer for cell in cells}
    if Answer.NO in answers:
        assert found is not None
        assert found.answer is Answer.NO
        assert (found.standing is Standing.VERIFIED) == (NO not in cells)
    elif None in answers:
        assert found is None
    else:
        assert found is not None
        assert found.answer is Answer.YES


@pytest.mark.parametrize(
    "arguments",
    [
        (Standing.UNKNOWN, Answer.YES, "x"),
        (Standing.VERIFIED, None, "x"),
        (Standing.VERIFIED, Answer.NO, ""),
    ],
)
def test_an_answer_needs_a_source(arguments: tuple[Standing, Answer | None, str]) -> None:
    with pytest.raises(ValueError, match="source"):
        Cell(*arguments)


def test_the_data_files_agree_with_the_paper() -> None:
    """Section 3.1: 4 of 11 satisfy the essential criteria, and these support subnet routers."""
    paper = {name: one.paper for name, one in known().items() if one.paper}
    assert len(paper) == 11
    good = [name for name, row in paper.items() if set(row.values()) == {Answer.YES}]
    assert good == ["headscale", "netbird", "zerotier", "netmaker"]
    for name in good:
        cell = known()[name].cell(Criterion.SUBNET_ROUTER)
        assert cell is not None
        assert cell.answer is Answer.YES
    almost = [
        name
        for name, row in paper.items()
        if [one for one, answer in row.items() if answer is Answer.NO] == [Criterion.CONNECTIVITY]
    ]
    assert almost == ["innernet", "nebula"]


def test_every_documented_cell_has_a_source() -> None:
    for name, one in known().items():
        for cell in one.documented.values():
            assert cell.source.startswith(("https://", "kjorveziroski2024", "RFC ")), name
