"""One decision a column: its error rates, its power, and what it can say with few blocks."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from culvert.analysis.column import Column, Columns, column
from culvert.analysis.design import Blocking, Design
from culvert.statistics.looks import Looks
from culvert.statistics.ranks import Rank, leads

Array = NDArray[np.float64]
NAMES = ("a", "b", "c", "d", "e")
TIMES = 200


def luck(rate: float) -> float:
    """Three standard deviations of a rate seen so many times."""
    return 3 * sqrt(rate * (1 - rate) / TIMES)


def made(figures: Array, design: Design = Design()) -> Column:  # noqa: B008 - frozen
    """``figures`` (blocks, contestants)."""
    series = {
        name: {block: float(value) for block, value in enumerate(values, start=1)}
        for name, values in zip(NAMES, figures.T, strict=False)
    }
    return column(series, design)


def equals(rng: np.random.Generator, blocks: int, rho: float) -> Array:
    """Five contestants that are alike; each one's trials follow its own last one by ``rho``."""
    noise = rng.standard_normal((blocks, len(NAMES)))
    found = noise.copy()
    for block in range(1, blocks):
        found[block] = rho * found[block - 1] + sqrt(1 - rho**2) * noise[block]
    return 100 * np.exp(0.02 * found)


@pytest.mark.parametrize("many", [2, 5])
@pytest.mark.parametrize("blocks", [5, 8, 10, 20])
@pytest.mark.parametrize(("rho", "most"), [(0.0, 0.05), (0.5, 0.08)])
def test_of_equals_one_is_seldom_called_best(
    many: int, blocks: int, rho: float, most: float
) -> None:
    """Best or perhaps best, as the report's badges: something is behind something."""
    rng = np.random.default_rng(blocks)
    wrong = 0
    for _ in range(TIMES):
        figures = equals(rng, blocks, rho)[:, :many]
        wrong += bool(leads(made(figures).ranks(NAMES[:many], more_is_better=True)))
    assert wrong / TIMES <= most + luck(most)


def test_drift_of_the_machine_raises_no_alarms_and_costs_no_power() -> None:
    """Correlated by 0.99 from trial to trial; contestants come in random order in a block."""
    rng = np.random.default_rng(4)
    alarms = found = 0
    for _ in range(TIMES):
        drift = np.cumsum(0.01 * rng.standard_normal(60)).reshape(12, 5)
        noise = rng.permuted(drift, axis=1) + 0.01 * rng.standard_normal((12, 5))
        alarms += any(pair.apart for pair in made(100 * np.exp(noise)).pairs.values())
        noise[:, 0] += 0.06
        found += made(100 * np.exp(noise)).apart("a", "b")
    assert alarms / TIMES <= 0.05 + luck(0.05)
    assert found / TIMES >= 0.85


def test_four_blocks_decide_nothing_and_five_can() -> None:
    figures = np.array([[100.0, 50.0], [101.0, 51.0], [99.0, 49.0], [100.5, 50.2], [99.7, 49.9]])
    four = made(figures[:4]).between("a", "b")
    assert four is not None
    assert (four.n, four.possible, four.apart, four.more) == (4, False, False, 1)
    assert made(figures).apart("a", "b")


@pytest.mark.parametrize("noise", ["normal", "skewed", "outliers", "one scatters", "all differ"])
@pytest.mark.parametrize("blocks", [5, 7, 12])
def test_equals_are_seldom_called_different_whatever_the_noise(noise: str, blocks: int) -> None:
    """All alike, and four alike beside one that is better by half."""
    rng = np.random.default_rng(blocks)
    wrong = beside = 0
    for _ in range(TIMES):
        figures = 0.03 * rng.standard_normal((blocks, 5))
        if noise == "skewed":
            figures = 0.03 * rng.exponential(size=(blocks, 5))
        elif noise == "outliers":
            figures += np.log(3) * (rng.random((blocks, 5)) < 0.05)
        elif noise == "one scatters":
            figures[:, 0] *= 3
        elif noise == "all differ":
            figures *= [0.5, 1, 1, 2, 3]
        wrong += any(pair.apart for pair in made(np.exp(figures)).pairs.values())
        figures[:, 4] += np.log(1.5)
        found = made(np.exp(figures))
        beside += any(pair.apart for names, pair in found.pairs.items() if "e" not in names)
    assert wrong / TIMES <= 0.05 + luck(0.05)
    assert beside / TIMES <= 0.05 + luck(0.05)


def test_one_trial_that_scatters_hides_no_difference() -> None:
    """14.4 against 24.8: one trial of six is three times as long."""
    rng = np.random.default_rng(9)
    figures = np.array([14.4, 24.8, 25.1, 24.5]) * np.exp(0.03 * rng.standard_normal((6, 4)))
    figures[2, 0] *= 3
    found = made(figures)
    assert all(found.apart("a", other) for other in ("b", "c", "d"))


def test_a_difference_of_half_is_found_in_five_blocks() -> None:
    rng = np.random.default_rng(10)
    hits = 0
    for _ in range(TIMES):
        figures = np.exp(0.03 * rng.standard_normal((5, 5))) * [1.5, 1, 1, 1, 1]
        hits += made(figures).apart("a", "b")
    assert hits / TIMES >= 0.95


def test_a_small_difference_is_found_in_twelve_blocks() -> None:
    """5 % at a scatter of 3 %, among five; Holm's correction would find 62 %."""
    rng = np.random.default_rng(12)
    hits = 0
    for _ in range(TIMES):
        figures = np.exp(0.03 * rng.standard_normal((12, 5))) * [1.05, 1, 1, 1, 1]
        hits += made(figures).apart("a", "b")
    assert hits / TIMES >= 0.72


def test_who_has_too_few_trials_costs_the_others_nothing() -> None:
    """Each pair has an error of its own here, so only the number of contestants is left."""
    figures = 100 * np.exp(0.03 * np.random.default_rng(5).standard_normal((10, 4)))
    three = {name: dict(enumerate(values)) for name, values in zip("abc", figures.T, strict=False)}
    design = Design(Blocking.LISTED)
    alone, beside = (
        column(series, design).pairs
        for series in (three, three | {"d": dict(enumerate(figures[:2, 3]))})
    )
    assert {pair: alone[pair].p_value for pair in alone} == {
        pair: beside[pair].p_value for pair in alone
    }
    assert beside["a", "d"].p_value == 1.0


def test_as_many_more_blocks_as_stated_decide() -> None:
    """In 80 % at the least, if the difference and the scatter are those estimated."""
    rng = np.random.default_rng(7)
    first = made(np.exp(0.03 * rng.standard_normal((7, 5))) * [1.04, 1, 1, 1, 1]).between("a", "b")
    assert first is not None
    assert first.contrast is not None
    assert first.more is not None
    n = first.n + first.more
    effect = first.contrast.estimate / (first.contrast.se * sqrt(first.contrast.effective / 2))
    hits = 0
    for _ in range(TIMES):
        figures = np.array([effect, 0, 0, 0, 0]) + rng.standard_normal((n, 5))
        hits += made(np.exp(figures)).apart("a", "b")
    assert hits / TIMES >= 0.8 - luck(0.8)


def test_where_a_rule_looks_early_it_takes_more_blocks() -> None:
    looks = Looks(first=5, last=12).reaching()
    assert looks.fewest() == looks.first == 7
    steady = 100 * np.exp(0.001 * np.random.default_rng(1).standard_normal((7, 2))) * [1, 2]
    design = Design(looks=looks)
    six, seven = (made(steady[:n], design).between("a", "b") for n in (6, 7))
    assert six is not None
    assert seven is not None
    assert (six.possible, six.more) == (False, 1)
    assert seven.apart
    assert seven.level > 0.95


def test_both_directions_say_the_same() -> None:
    found = made(100 * np.exp(0.01 * np.random.default_rng(2).standard_normal((8, 3))) * [1, 2, 3])
    there, back = found.between("a", "c"), found.between("c", "a")
    assert there is not None
    assert back is not None
    assert (there.p_value, there.apart) == (back.p_value, back.apart)
    assert (there.above, back.above) == (False, True)
    assert found.ranks(("a", "b", "c"), more_is_better=True)["c"] == Rank(1, 1)
    assert found.ranks(("a", "b", "c"), more_is_better=False)["a"] == Rank(1, 1)
    assert found.between("a", "nobody") is None


def test_pairs_with_other_blocks_are_each_decided_by_their_own() -> None:
    figures = 100 * np.exp(0.01 * np.random.default_rng(3).standard_normal((12, 3))) * [1, 2, 3]
    series = {
        name: {block: float(value) for block, value in enumerate(values) if block < last}
        for name, values, last in zip(NAMES, figures.T, (12, 12, 7), strict=False)
    }
    found = column(series, Design())
    assert {pair: one.n for pair, one in found.pairs.items()} == {
        ("a", "b"): 12,
        ("a", "c"): 7,
        ("b", "c"): 7,
    }
    assert all(one.apart for one in found.pairs.values())


@pytest.mark.parametrize("blocking", [Blocking.LISTED, Blocking.NONE])
def test_without_random_blocks_correlation_is_allowed_for(blocking: Blocking) -> None:
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(TIMES):
        found = made(equals(rng, 10, 0.5), Design(blocking))
        wrong += any(pair.apart for pair in found.pairs.values())
    assert wrong / TIMES <= 0.05 + luck(0.05)
    apart = 100 * np.exp(0.01 * rng.standard_normal((10, 3))) * [1, 2, 3]
    assert all(pair.apart for pair in made(apart, Design(blocking)).pairs.values())


def test_figures_that_never_vary() -> None:
    found = made(np.tile([100.0, 100.0, 300.0], (8, 1)))
    assert not found.apart("a", "b")
    assert found.apart("a", "c")
    six = made(np.tile([4.0, 6.0, 8.0, 10.0, 2.0], (6, 1)))
    assert all(pair.apart for pair in six.pairs.values())
    assert not any(pair.apart for pair in made(np.tile([4.0, 6.0, 8.0], (5, 1))).pairs.values())
    zeros = made(np.tile([0.0, 0.0], (8, 1)))
    assert not zeros.apart("a", "b")


def test_a_design_is_read_from_a_study() -> None:
    listed = {"plan": {"order": "listed", "blocks": 7}}
    assert Design.of(listed) == Design(Blocking.LISTED)
    until = {"plan": {"order": "random", "blocks": {"until": "ci <= 2%", "min": 5, "max": 12}}}
    assert Design.of(until).looks == Looks(first=7, last=12, silent=7)
    assert Design.of(until, imported=True) == Design(Blocking.NONE)
    contents: tuple[dict[str, object], ...] = ({}, {"plan": []}, {"plan": {"blocks": {}}})
    for content in contents:
        assert Design.of(content) == Design()


def test_the_baseline_is_no_contestant_where_it_has_no_value_to_compare() -> None:
    """A link without a VPN needs no start: its scatter, of a factor of 30, is not the VPNs'."""
    starts = {
        "none": (2.9, 1.4, 0.1, 0.1, 0.1, 0.4),
        "wireguard/go": (63.2, 97.5, 58.7, 67.4, 114.5, 57.1),
        "openvpn/aes-256-gcm": (133.6, 129.5, 115.7, 122.1, 85.5, 135.1),
        "strongswan/esp-aes256gcm": (276.7, 253.0, 202.3, 189.6, 268.3, 242.7),
    }

    def ahead(measurement: str, metric: str) -> bool:
        key = ("clean", measurement, "{}", metric, "{}", "ms")
        names = ("condition", "measurement", "parameters", "metric", "labels", "unit")
        rows = [
            {**dict(zip(names, key, strict=True)), "vpn": vpn, "block": block, "value": value}
            for vpn, values in starts.items()
            for block, value in enumerate(values, start=1)
        ]
        found = Columns(pl.DataFrame(rows)).of(key)
        assert (found.between("none", "wireguard/go") is None) == (metric == "total_ms")
        return found.apart("wireguard/go", "strongswan/esp-aes256gcm")

    assert ahead("initiation", "total_ms")
    assert not ahead("rtt", "rtt_p50_us")
