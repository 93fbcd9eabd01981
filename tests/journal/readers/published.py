"""kjorveziroski2024's data and text, for those who have them beside the checkout."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared"
DATA = SHARED / "data" / "kjorveziroski2024"
_TITLE = "Full-mesh VPN performance evaluation for a secure edge-cloud continuum"
_NUMBER = re.compile(r"x?(\d+(?:\.\d+)?)")

needs_data = pytest.mark.skipif(not DATA.exists(), reason=f"no published data in {DATA}")


@dataclass(frozen=True)
class PrintedRow:
    """A row of table A1 or A2; figures as printed: mean, sd, cv, times 1450, times 1230."""

    table: str
    test: str
    condition: str
    figures: tuple[str, ...]


def printed_rows() -> list[PrintedRow]:
    """All rows of tables A1 and A2, from the paper's text; skips where it is not at hand."""
    texts = [path.read_text(encoding="utf-8") for path in (SHARED / "seeds").glob("*.txt")]
    paper = next((text for text in texts if _TITLE in text[:500]), None)
    if paper is None:
        pytest.skip(f"the paper is not in {SHARED / 'seeds'}")
    found: list[PrintedRow] = []
    table = test = ""
    for line in paper.splitlines():
        if line.startswith("TABLE A"):
            table = line.split()[1]
        cells = line.split("\t")
        numbers = [_NUMBER.fullmatch(cell) for cell in cells[2:]]
        if not table or len(cells) != 7 or not all(numbers):
            continue
        test = cells[0] or test
        # Table A2 has "50ms" in some rows and "50 ms" in others.
        condition = re.sub(r"(\d)ms", r"\1 ms", cells[1])
        figures = tuple(number[1] for number in numbers if number)
        found.append(PrintedRow(table, test, condition, figures))
    return found
