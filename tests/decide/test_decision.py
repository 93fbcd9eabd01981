"""One decision a column: its error rates, its power, and what it can say with few blocks."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from culvert.analysis.column import Columns
from culvert.analysis.design import Design
from culvert.decide.decision import Blocking, Decision, decide
from culvert.metrics import Better
from culvert.statistics.looks import ONCE, Looks
from culvert.statistics.ranks import Rank

Array = NDArray[np.float64]
NAMES = ("a", "b", "c", "d", "e")
TIMES = 200
NOISES = ("normal", "log-normal", "skewed", "outliers", "all differ", "blocks follow one another")


def luck(rate: float, times: int = TIMES) -> float:
    """Three standard deviations of a rate seen so many times."""
    return 3 * sqrt(rate * (1 - rate) / times)


def made(figures: Array, blocking: Blocking = Blocking.RANDOM, looks: Looks = ONCE) -> Decision:
    """``figures`` (blocks, contestants)."""
    series = {
        name: {block: float(value) for block, value in enumerate(values, start=1)}
        for name, values in zip(NAMES, figures.T, strict=False)
    }
    return decide(series, blocking=blocking, looks=looks, better=Better.MORE)


def following(rng: np.random.Generator, blocks: int, many: int, rho: float) -> Array:
    """Stationary columns, standard normal, with that lag-1 correlation."""
    found = rng.standard_normal((blocks, many))
    for block in range(1, blocks):
        found[block] = rho * found[block - 1] + sqrt(1 - rho**2) * found[block]
    return found


def noisy(rng: np.random.Generator, noise: str, blocks: int, many: int = 5) -> Array:
    """Logarithms of equals (blocks, many), of the scale of 3 %."""
    found = 0.03 * rng.standard_normal((blocks, many))
    match noise:
        case "log-normal":
            return np.asarray(np.log1p(np.expm1(20 * found) * 0.03))
        case "skewed":
            return 0.03 * rng.exponential(size=(blocks, many))
        case "outliers":
            found += np.log(3) * (rng.random((blocks, many)) < 0.05)
        case "all differ":
            found *= rng.permutation([0.5, 1, 1, 2, 3][:many])
        case "blocks follow one another":
            found += 0.1 * following(rng, blocks, 1, 0.5)
    return found


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("blocks", [5, 7, 12])
def test_equals_are_seldom_decided_whatever_the_noise(noise: str, blocks: int) -> None:
    """No difference between equals: all five, four beside a better one; and none of two or three
    equal best ones is best."""
    rng = np.random.default_rng(blocks)
    wrong = dict.fromkeys(("all", "beside", "two", "three"), 0)
    for _ in range(TIMES):
        figures = noisy(rng, noise, blocks)
        found = made(np.exp(figures))
        wrong["all"] += any(pair.apart for pair in found.pairs.values())
        found = made(np.exp(figures + np.log([1, 1, 1, 1, 1.5])))
        wrong["beside"] += any(
            pair.apart for names, pair in found.pairs.items() if "e" not in names
        )
        for best, name in ((2, "two"), (3, "three")):
            shift = np.where(np.arange(5) < best, 0.4, 0.0)
            wrong[name] += made(np.exp(figures + shift)).best is not None
    assert max(wrong.values()) / TIMES <= 0.055 + luck(0.055), wrong


@pytest.mark.parametrize(("times", "blocks", "most"), [(3, 7, 0.07), (3, 20, 0.055), (2, 20, 0.06)])
def test_two_best_that_scatter_more_count_by_their_own_scatter(
    times: int, blocks: int, most: float
) -> None:
    """Drawn towards that of the others, one of them would be called best in 7 to 10 %."""
    rng = np.random.default_rng(blocks)
    shift = np.array([0.4, 0.4, 0, 0, 0])
    wrong = 0
    for _ in range(3 * TIMES):
        figures = noisy(rng, "normal", blocks) * np.array([times, times, 1, 1, 1])
        wrong += made(np.exp(figures + shift)).best is not None
    assert wrong / (3 * TIMES) <= most + 2 * luck(most, 3 * TIMES) / 3


@pytest.mark.parametrize("groups", [(2, 3), (3, 2), (1, 2, 2)])
@pytest.mark.parametrize("blocks", [7, 12])
def test_errors_of_the_best_and_of_all_other_pairs_do_not_add_up(
    groups: tuple[int, ...], blocks: int
) -> None:
    """Equal best ones beside equals that are worse: each pair of equals counts."""
    rng = np.random.default_rng(blocks)
    group = np.repeat(np.arange(len(groups)), groups)
    place = dict(zip(NAMES, group, strict=True))
    wrong = 0
    for _ in range(2 * TIMES):
        pairs = made(np.exp(noisy(rng, "normal", blocks) - 0.4 * group)).pairs.items()
        wrong += any(pair.apart for (a, b), pair in pairs if place[a] == place[b])
    assert wrong / (2 * TIMES) <= 0.055 + luck(0.055, 2 * TIMES)


def test_those_behind_an_undecided_first_differ_only_clearly() -> None:
    """The same three VPNs, behind one that is best and behind two that are equal."""
    rng = np.random.default_rng(12)
    figures = np.exp(0.03 * rng.standard_normal((10, 5)) + [1, 1, 0.08, 0, -1])
    tied = made(figures)
    alone = made(figures * [1, 0.5, 1, 1, 1])
    assert (tied.best, alone.best) == (None, "a")
    before, after = tied.between("c", "d"), alone.between("c", "d")
    assert before is not None
    assert after is not None
    assert before.factor >= 10 * after.factor / 2
    assert tied.apart("c", "e")
    assert tied.apart("a", "e")


def test_a_noisy_vpn_hides_no_difference_of_the_others() -> None:
    """One that scatters four times as much lends the quiet ones no scatter."""
    rng = np.random.default_rng(13)
    found = 0
    for _ in range(TIMES):
        noise = 0.03 * rng.standard_normal((10, 5)) * [1, 1, 1, 1, 4]
        found += made(np.exp(noise + np.array([0.08, 0, 0, 0, -0.7]))).apart("a", "b")
    assert found / TIMES >= 0.6


@pytest.mark.parametrize("blocks", [1, 2, 4])
@pytest.mark.parametrize("many", [2, 5])
def test_too_few_blocks_have_no_p_value_and_state_how_many_more(blocks: int, many: int) -> None:
    found = made(np.exp(np.random.default_rng(1).standard_normal((blocks, many))))
    assert found.best is None
    for pair in found.pairs.values():
        assert (pair.possible, pair.p_value, pair.ends) == (False, 1.0, None)
        assert pair.more == 5 - blocks


def test_blocks_with_holes_and_a_vpn_without_a_trial() -> None:
    """Where no block has both of two VPNs they are not compared."""
    rng = np.random.default_rng(14)
    figures = 100 * np.exp(0.01 * rng.standard_normal((12, 3))) * [1, 2, 3]
    series = {
        "a": {b: float(figures[b, 0]) for b in range(12)},
        "b": {b: float(figures[b, 1]) for b in range(0, 12, 2)},
        "c": {b: float(figures[b, 2]) for b in range(1, 12, 2)},
        "d": {},
    }
    found = decide(series, better=Better.MORE)
    assert set(found.pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert found.apart("a", "b")
    assert found.apart("a", "c")
    pair = found.between("b", "c")
    assert pair is not None
    assert (pair.n, pair.estimate, pair.p_value, pair.ends) == (0, None, 1.0, None)
    assert found.best is None
    assert found.between("a", "d") is None


def test_of_two_equals_one_is_seldom_called_best() -> None:
    rng = np.random.default_rng(1)
    wrong = sum(bool(made(np.exp(noisy(rng, "normal", 8, 2))).best) for _ in range(2 * TIMES))
    assert wrong / (2 * TIMES) <= 0.05 + luck(0.05, 2 * TIMES)


@pytest.mark.parametrize(("blocks", "least"), [(7, 0.6), (12, 0.9)])
def test_the_better_one_of_five_is_called_best(blocks: int, least: float) -> None:
    """5 % at a scatter of 3 %."""
    rng = np.random.default_rng(blocks)
    better = [np.log(1.05), 0, 0, 0, 0]
    hits = 0
    for _ in range(2 * TIMES):
        hits += made(np.exp(noisy(rng, "normal", blocks) + better)).best == "a"
    assert hits / (2 * TIMES) >= least - luck(least, 2 * TIMES)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 9),
    st.integers(2, 6),
    st.sampled_from(Blocking),
    st.sampled_from([ONCE, Looks(first=5, last=12).reaching()]),
    st.integers(0, 2**32 - 1),
)
def test_estimate_interval_and_test_belong_together(
    blocks: int, many: int, blocking: Blocking, looks: Looks, seed: int
) -> None:
    """With holes, equal values, values of 0 and gross outliers: never an exception."""
    rng = np.random.default_rng(seed)
    figures = np.exp(rng.choice([0, 0.01, 0.5]) * rng.standard_normal((blocks, many)))
    figures *= 1 + rng.integers(0, 3, many) * 0.02
    figures[rng.random(figures.shape) < 0.05] *= rng.choice([0, 1, 30])
    series = {
        f"v{vpn}": {b: float(figures[b, vpn]) for b in range(blocks) if rng.random() > 0.1}
        for vpn in range(many)
    }
    found = decide(series, blocking=blocking, looks=looks, better=rng.choice(list(Better)))
    for pair in found.pairs.values():
        assert 0 <= pair.p_value <= 1
        assert pair.possible or not pair.apart
        if pair.ends is not None:
            assert pair.estimate is not None
            low, high = pair.ends
            assert low <= pair.estimate <= high
            assert (low > 0 or high < 0) == pair.apart
        if found.best in (pair.a, pair.b):
            assert pair.apart
    if found.best:
        ranks = found.ranks(list(series), more_is_better=True).values()
        assert sum(rank.best == rank.worst == 1 for rank in ranks) <= 1


def test_who_is_best_depends_on_the_direction_and_on_who_competes() -> None:
    figures = 100 * np.exp(0.01 * np.random.default_rng(2).standard_normal((8, 3))) * [1, 2, 3]
    series = {
        name: dict(enumerate(map(float, values)))
        for name, values in zip(NAMES, figures.T, strict=False)
    }
    for better, expected in ((Better.MORE, "cb"), (Better.LESS, "aa"), (Better.NEITHER, "")):
        found = [decide(series, better=better, beside=beside).best for beside in ("", "c", "ab")]
        assert "".join(best or "" for best in found) == expected
    apart = decide(series, better=Better.MORE, comparable=lambda pair: pair != ("b", "c"))
    assert apart.best is None


def test_one_vpn_none_and_two_hundred() -> None:
    assert decide({}) == Decision({})
    assert decide({"a": {1: 2.0}}) == Decision({})
    rng = np.random.default_rng(3)
    many = {f"v{vpn}": dict(enumerate(rng.normal(100 + vpn, 1, 6))) for vpn in range(200)}
    found = decide(many, better=Better.MORE)
    assert len(found.pairs) == 19_900
    assert found.apart("v0", "v199")


def test_blocks_that_follow_one_another_are_named() -> None:
    """Drift of one VPN alone: random order does not take it out."""
    rng = np.random.default_rng(8)
    figures = np.exp(0.01 * rng.standard_normal((30, 2)))
    steady = made(figures).between("a", "b")
    assert steady is not None
    assert not steady.correlated
    figures[:, 0] *= np.exp(np.linspace(0, 0.5, 30))
    pair = made(figures).between("a", "b")
    assert pair is not None
    assert pair.correlated


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


def test_who_has_too_few_trials_costs_the_others_nothing() -> None:
    """Each pair has an error of its own here, so only the number of contestants is left."""
    figures = 100 * np.exp(0.03 * np.random.default_rng(5).standard_normal((10, 4)))
    three = {name: dict(enumerate(values)) for name, values in zip("abc", figures.T, strict=False)}
    alone, beside = (
        decide(series, blocking=Blocking.LISTED).pairs
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
    six, seven = (made(steady[:n], looks=looks).between("a", "b") for n in (6, 7))
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
    found = decide(series)
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
        found = made(np.exp(0.02 * following(rng, 10, 5, 0.5)), blocking)
        wrong += any(pair.apart for pair in found.pairs.values())
    assert wrong / TIMES <= 0.05 + luck(0.05)
    apart = 100 * np.exp(0.01 * rng.standard_normal((10, 3))) * [1, 2, 3]
    assert all(pair.apart for pair in made(apart, blocking).pairs.values())


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
    """A link without a VPN needs no start; and a scatter of a factor of 30 is not the VPNs'."""
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
    assert ahead("rtt", "rtt_p50_us")
