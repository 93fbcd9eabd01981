"""The study of the goal parts-within-whole, and what it counts."""

from __future__ import annotations

import json

from bench.goals.parts_within_whole import BLOCKS, BUSY, CELLS, is_withheld, short_study

from culvert.plan.plan import Plan
from culvert.study.study import Study
from culvert.trial.cpu import OF_THE_SPLIT, OF_THE_WHOLE
from culvert.vpns.registry import installed_catalogue


def test_its_cells_are_those_of_quick_but_shorter() -> None:
    catalogue = installed_catalogue()
    short = Plan.of(Study.parse(short_study(), catalogue, scale="short"))
    quick = Plan.of(Study.load("quick", catalogue))
    assert len(short.cells) == CELLS
    assert [(one.vpn, one.measurement) for one in short.cells] == [
        (one.vpn, one.measurement) for one in quick.cells
    ]
    assert all(
        one.parameters != other.parameters
        for one, other in zip(short.cells, quick.cells, strict=True)
    )
    assert short.max_blocks == BLOCKS


def test_only_a_whole_below_its_parts_counts() -> None:
    def evidence(names: tuple[str, ...]) -> str:
        return json.dumps({"withheld": [{"metrics": list(names), "reason": "why"}]})

    assert BUSY in OF_THE_WHOLE
    assert is_withheld(evidence(OF_THE_WHOLE))
    assert not is_withheld(evidence(OF_THE_SPLIT))
    assert not is_withheld("{}")
