"""Cells and a clock for tests of plans."""

from __future__ import annotations

from hypothesis import strategies as st

from culvert.plan.plan import Cell, Plan
from culvert.results import Parameters

VPNS = ("none", "a", "b", "c/d+e")


def cells(count: int) -> tuple[Cell, ...]:
    return tuple(
        Cell(VPNS[i % 4], "clean", "udp", Parameters.of({"n": i // 4})) for i in range(count)
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    return Plan(
        cells=cells(draw(st.integers(0, 12))),
        seed=draw(st.integers(0, 2**63 - 1)),
        order=draw(st.sampled_from(["random", "random", "listed"])),
        min_blocks=1,
        max_blocks=draw(st.integers(1, 6)),
        warmup_blocks=draw(st.integers(0, 2)),
    )
