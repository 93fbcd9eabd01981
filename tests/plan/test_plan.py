"""Blocks hold every cell once, in an order that depends on seed and number alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.plan.plan import Cell, Done, Plan, Trial, cells_of
from culvert.results import Parameters
from tests.plan.simulated import cells, plans
from tests.study.dummies import HEAD, UDP, parse


def trials(plan: Plan, done: Done = frozenset()) -> list[Trial]:
    return [trial for number in plan.block_numbers() for trial in plan.missing(number, done)]


@given(plans(), st.integers(-5, 10**9))
def test_a_block_holds_every_cell_once(plan: Plan, number: int) -> None:
    assert Counter(plan.block(number)) == Counter(plan.cells)


@given(plans(), st.integers(1, 50))
def test_the_order_does_not_depend_on_how_many_blocks_there_are(plan: Plan, more: int) -> None:
    longer = trials(replace(plan, max_blocks=(plan.max_blocks or 0) + more))
    shorter = trials(plan)
    assert longer[: len(shorter)] == shorter
    assert len(longer) == len(shorter) + more * len(plan.cells)


@given(plans(), st.data())
def test_resuming_yields_exactly_what_is_missing(plan: Plan, data: st.DataObject) -> None:
    everything = trials(plan)
    kept = data.draw(st.lists(st.booleans(), min_size=len(everything), max_size=len(everything)))
    done = {
        (trial.block, trial.cell.key) for trial, keep in zip(everything, kept, strict=True) if keep
    }
    missing = [trial for trial, keep in zip(everything, kept, strict=True) if not keep]
    assert trials(plan, done) == missing


@given(plans())
def test_blocks_and_positions_count_up(plan: Plan) -> None:
    places = [(trial.block, trial.position) for trial in trials(plan)]
    assert places == sorted(places)
    if plan.cells:
        assert places[0] == (1 - plan.warmup_blocks, 1)
        assert places[-1] == (plan.max_blocks, len(plan.cells))


@given(plans())
def test_grouped_cells_of_a_vpn_and_condition_follow_each_other(plan: Plan) -> None:
    grouped = replace(plan, grouped=True)
    for number in (1, 2):
        block = grouped.block(number)
        assert sorted(cell.key for cell in block) == sorted(cell.key for cell in plan.cells)
        keys = [(cell.vpn, cell.condition) for cell in block]
        changes = sum(one != other for one, other in pairwise(keys))
        assert changes == max(len(set(keys)) - 1, 0) or plan.order == "listed"


def test_seeds_and_blocks_shuffle_differently() -> None:
    plan = Plan(cells(12), seed=1, max_blocks=2)
    other = replace(plan, seed=2)
    orders = [plan.block(1), plan.block(2), other.block(1), other.block(2)]
    assert len(set(orders)) == 4


def test_every_order_is_as_likely() -> None:
    # 6 orders of 3 cells in 6000 blocks: 1000 each, standard deviation 29. The seed is fixed.
    plan = Plan(cells(3), seed=7)
    seen = Counter(plan.block(number) for number in range(6000))
    assert set(seen) == set(permutations(plan.cells))
    assert all(abs(count - 1000) < 5 * 29 for count in seen.values())


def test_the_order_is_the_same_in_every_version() -> None:
    # A journal that an older Culvert began must be resumed in the order it was begun in.
    order = [cell.vpn for cell in Plan(cells(4), seed=1).block(1)]
    assert order == ["a", "b", "none", "c/d+e"]
    assert cells(1)[0].key == "5405a54026f3"


@given(st.lists(st.tuples(*[st.text(max_size=3)] * 4), unique=True, max_size=30))
def test_keys_tell_cells_apart(fields: list[tuple[str, str, str, str]]) -> None:
    cells = {Cell(a, b, c, Parameters.of({"n": n})) for a, b, c, n in fields}
    assert len({cell.key for cell in cells}) == len(fields)


def test_a_studys_cells() -> None:
    study = parse(
        HEAD
        + '[[condition]]\nname = "x"\n[[condition]]\nname = "y"\n'
        + UDP
        + "packet_size=[64,65]"
    )
    found = cells_of(study)
    assert len(found) == len(set(found)) == 2 * 2 * 2
    assert {(cell.vpn, cell.condition) for cell in found} == {
        (vpn, condition) for vpn in study.vpns for condition in "xy"
    }


@pytest.mark.parametrize(
    ("blocks", "least", "most", "budget_s"),
    [
        ("7", 7, 7, None),
        ("{ max = 9 }", 1, 9, None),
        ('{ max = 9, until = "ci <= 2%" }', 6, 9, None),
        ('{ max = 3, until = "ci <= 2%" }', 3, 3, None),
        ('{ min = 2, max = 9, until = "ci <= 2%", budget = "20min" }', 2, 9, 1200.0),
        ('{ budget = "1h" }', 1, None, 3600.0),
    ],
)
def test_a_studys_plan(blocks: str, least: int, most: int | None, budget_s: float | None) -> None:
    plan = Plan.of(parse(HEAD + UDP + f'[plan]\nseed = 9\npause = "1s"\nblocks = {blocks}\n'))
    assert (plan.min_blocks, plan.max_blocks, plan.budget_s) == (least, most, budget_s)
    assert (plan.seed, plan.pause_s) == (9, 1.0)
    assert (plan.rule is not None) == ("until" in blocks)


def test_time_is_estimated() -> None:
    plan = Plan(cells(4), seed=1, min_blocks=2, max_blocks=5, pause_s=1.0, warmup_blocks=1)
    estimate = plan.estimate(lambda cell: 2.0)
    assert (estimate.block_s, estimate.min_s, estimate.max_s) == (12.0, 36.0, 72.0)
    capped = replace(plan, budget_s=30.0).estimate(lambda cell: 2.0)
    assert (capped.min_s, capped.max_s) == (30.0, 30.0)
    endless = replace(plan, max_blocks=None, budget_s=100.0).estimate(lambda cell: 2.0)
    assert endless.max_s == 100.0
    assert replace(plan, cells=()).estimate(lambda cell: 2.0).max_s == 0.0
    assert plan.estimate(lambda cell: 2.0, before=cells(2)).block_s == 16.0


def test_only_keeps_the_baseline_of_what_matches() -> None:
    plan = Plan(cells(8), seed=1).only("c/*")
    assert [(cell.vpn, cell.parameters) for cell in plan.cells] == [
        ("none", '{"n":0}'),
        ("c/d+e", '{"n":0}'),
        ("none", '{"n":1}'),
        ("c/d+e", '{"n":1}'),
    ]
    assert Plan(cells(8), seed=1).only("udp").cells == cells(8)
    assert Plan(cells(8), seed=1).only("nothing").cells == ()
    several = Plan(cells(8), seed=1).only("c/*", "nothing", "[!cn]*")
    assert {cell.vpn for cell in several.cells} == {cell.vpn for cell in cells(8)}


def test_an_array_of_an_excluded_parameter_stands_for_any_of_its_values() -> None:
    sizes = UDP + "packet_size = [64, 512, 1024]\n"
    left_out = '[[exclude]]\nvpns = ["none"]\nparameters = { packet_size = [64, 1024] }\n'
    found = Plan.of(parse(HEAD + sizes + left_out)).cells
    assert [one.parameters.get("packet_size") for one in found if one.vpn == "none"] == [512]
    assert {one.parameters.get("packet_size") for one in found} == {64, 512, 1024}
