"""The table of docs/calibration.md: truths beside the figures that a machine measured of them.

::

    culvert doctor --calibrate --json > calibration.json
    python -m bench.calibration_page calibration.json --machine "two cores of a virtual machine"
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from culvert.calibration.rows import CalibrationRow
from culvert.calibration.show import from_json, line_of, summary

PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
BEGIN, END = "<!-- table of truths: python -m bench.calibration_page -->", "<!-- end -->"
_COLUMNS = ("cell", "metric", "truth", "measured", "right", "verdict")


def table(rows: Sequence[CalibrationRow], seconds: float, machine: str = "") -> str:
    """A row for each truth, below a sentence."""
    lines = [_COLUMNS, ["---"] * len(_COLUMNS), *_lines(rows)]
    cells = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    where = f"On {machine}: " if machine else ""
    return f"{where}{summary(rows, seconds)}\n\n{cells}"


def _lines(rows: Sequence[CalibrationRow]) -> Iterator[Sequence[str]]:
    for cell, members in groupby(rows, key=lambda row: row.cell):
        name = cell
        for row in members:
            if row.judged is None:
                yield name, "", "", "", "", f"{row.verdict}: {row.reason}"
            else:
                metric, *figures, _ = line_of(row)
                yield name, f"`{metric}`", *figures
            name = ""


def placed(text: str, inside: str) -> str:
    """The page's text with another table. Raises ValueError if it has no place for one."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n\n{inside}\n\n{text[end:]}"


def main() -> None:
    """Write the table into the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.calibration_page")
    parser.add_argument("found", type=Path, help="what culvert doctor --calibrate --json printed")
    parser.add_argument("--machine", default="", help="where it was measured, in a few words")
    given = parser.parse_args()
    rows, seconds = from_json(json.loads(given.found.read_text(encoding="utf-8")))
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(placed(text, table(rows, seconds, given.machine)), encoding="utf-8")


if __name__ == "__main__":
    main()
