"""Names that no study has, from an imported or hostile journal."""

from __future__ import annotations

import polars as pl
import pytest

from culvert.journal.marks import marks_of
from culvert.report.model import LONGEST_NAME, printable


def test_long_names_are_cut_and_stay_apart() -> None:
    names = ["a", "b" * LONGEST_NAME, "c" * 50_000, "c" * 50_001]
    frame = pl.DataFrame(dict.fromkeys(("vpn", "condition", "measurement"), names))
    shown = printable(frame)["condition"].to_list()
    assert shown[:2] == names[:2]
    assert len(set(shown)) == len(names)
    assert all(len(name) <= LONGEST_NAME + 10 for name in shown[2:])


RUN = {"by": "another run", "bound": 0}


@pytest.mark.parametrize(
    "marks",
    [
        *(5, "x", {}, {"by": "x"}, [1, None], [{"by": {}}], [{"by": []}], [RUN]),
        *([{**RUN, "value": value}] for value in ("1", None, 10**400, float("nan"), float("inf"))),
    ],
)
def test_marks_of_another_form_are_none(marks: object) -> None:
    assert marks_of({"marks": marks}) == ()
