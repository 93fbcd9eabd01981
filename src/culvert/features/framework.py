"""The framework: for each VPN and criterion one cell, from records and documents. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from culvert.features.criteria import PARTS, Criterion
from culvert.features.known import UNKNOWN, Answer, Cell, Known, Standing
from culvert.features.record import Record
from culvert.study.vpn_id import family_of


@dataclass(frozen=True)
class Driven:
    """What runs here of one VPN: the version of each variant by id; empty: no driver, or nothing
    installed."""

    name: str
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """One VPN. ``paper`` is None for a VPN that the paper's table does not have."""

    name: str
    title: str
    cells: Mapping[Criterion, Cell]
    paper: Mapping[Criterion, Answer] | None

    def published(self, criterion: Criterion) -> Answer | None:
        """The paper's answer, if it has one."""
        return (self.paper or {}).get(criterion)

    def differs(self, criterion: Criterion) -> bool:
        """Whether both this framework and the paper have an answer, and they differ."""
        published = self.published(criterion)
        found = self.cells[criterion].answer
        return published is not None and found is not None and found is not published


def framework(
    known: Mapping[str, Known], driven: Sequence[Driven], records: Sequence[Record]
) -> list[Row]:
    """All VPNs that are driven or known: those of the paper first, then the others."""
    here = {one.name: one for one in driven}
    names = dict.fromkeys([*known, *here])
    return [
        _row(name, known.get(name), here.get(name, Driven(name, {})), records) for name in names
    ]


def _row(name: str, known: Known | None, driven: Driven, records: Sequence[Record]) -> Row:
    own = [one for one in records if family_of(one.vpn) == name]
    cells: dict[Criterion, Cell] = {
        criterion: _cell(criterion, known, driven, own)
        for criterion in Criterion
        if criterion is not Criterion.CONNECTIVITY
    }
    documented = (known and known.cell(Criterion.CONNECTIVITY)) or UNKNOWN
    cells[Criterion.CONNECTIVITY] = derived({part: cells[part] for part in PARTS}) or documented
    paper = (known.paper or None) if known else None
    return Row(name, known.title if known else name, {one: cells[one] for one in Criterion}, paper)


def _cell(
    criterion: Criterion, known: Known | None, driven: Driven, records: Sequence[Record]
) -> Cell:
    """Verified before documented before unknown. A record of another version than the installed one
    verifies nothing; the note mentions it."""
    found = [one for one in records if one.criterion is criterion and one.holds is not None]
    current = [one for one in found if driven.versions.get(one.vpn) == one.version]
    if current:
        return _verified(current)
    cell = (known and known.cell(criterion)) or UNKNOWN
    undecided = [one for one in records if one.criterion is criterion and one.holds is None]
    if found:
        old = found[-1]
        words = f"{old.test} ran with {old.vpn} {old.version}: verify again"
    elif undecided:
        words = f"{undecided[-1].test} could not decide it: {undecided[-1].detail}"
    else:
        return cell
    note = "; ".join(filter(None, (cell.note, words)))
    return Cell(cell.standing, cell.answer, cell.source, note)


def _verified(records: Sequence[Record]) -> Cell:
    """A VPN meets a criterion if one of its variants does."""
    best = next((one for one in records if one.holds), records[0])
    return Cell(
        Standing.VERIFIED,
        Answer.YES if best.holds else Answer.NO,
        f"{best.test} with {best.vpn} {best.version}, {best.at[:10]}, kernel {best.kernel}",
        best.detail,
    )


def derived(parts: Mapping[Criterion, Cell]) -> Cell | None:
    """The conjunction of cells: no as soon as one is no, yes if all are; None if undecided.

    It is verified if the cells that decide it are.
    """
    noes = {name: cell for name, cell in parts.items() if cell.answer is Answer.NO}
    deciding = noes or parts
    if not noes and any(cell.answer is None for cell in parts.values()):
        return None
    every = all(cell.standing is Standing.VERIFIED for cell in deciding.values())
    return Cell(
        Standing.VERIFIED if every else Standing.DOCUMENTED,
        Answer.NO if noes else Answer.YES,
        f"follows from {', '.join(deciding)}",
    )
