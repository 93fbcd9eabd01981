from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.published import beside
from culvert.analysis.claims.verdict import Judged, Lack, Verdict, joined
from culvert.analysis.column import column
from culvert.analysis.design import Design, looks_at_claims
from culvert.analysis.line import Line
from culvert.analysis.summary import summarise
from culvert.decide.contrast import paired_contrast
from culvert.metrics import Better
from culvert.statistics.values import ratio_of
from culvert.study.study import Study
from tests.analysis.frames import rows
from tests.analysis.series import correlated
from tests.study.dummies import parse

A, B, C = "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"
HEAD = f"""
name = "s"
vpns = ["{A}", "{B}", "{C}"]
"""
UDP = '[[measurement]]\nkind = "udp"\npacket_size = 64\n'
BOTH = '[[measurement]]\nkind = "udp"\npacket_size = [64, "max"]\n'
LOSSY = '[[condition]]\nname = "clean"\n[[condition]]\nname = "lossy"\nloss = "1%"\n'
LINK = '[lab]\nlink = { kind = "wire" }\n'
ON = "udp.goodput_bps"


def study(*tests: str, head: str = HEAD, body: str = UDP, margin: str = "") -> Study:
    claims = "".join(
        f'[[claim]]\nid = "c{i}"\ntext = "claim {i}"\n{margin}test = "{test}"\n'
        for i, test in enumerate(tests)
    )
    return parse(head + body + claims)


def cell(
    given: Study, values: Mapping[str, Sequence[float | None]], *, index: int = 0, **more: str
) -> pl.DataFrame:
    """Rows of one measurement of the study's first condition."""
    one = next(iter(given.requested.values()))[index]
    return rows(values, measurement=one.kind, parameters=one.parameters, **more)  # type: ignore[arg-type]


def series(mean: float, n: int = 12, sd: float = 0.01, seed: int = 0) -> list[float]:
    noise = np.random.default_rng((seed, int(mean))).standard_normal(n)
    return [float(value) for value in mean * (1 + sd * noise)]


def verdict(test: str, values: Mapping[str, Sequence[float]], **options: str) -> Judged:
    given = study(f"{ON}: {test}", **options)
    (found,) = judge(given, cell(given, values))
    return found


VALUES = {A: series(130), B: series(100), C: series(100.5, seed=1)}


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (f"{A} > {B}", Verdict.SUPPORTED),
        (f"{A} < {B}", Verdict.CONTRADICTED),
        (f"{B} > {A}", Verdict.CONTRADICTED),
        (f"{A} > all", Verdict.SUPPORTED),
        (f"{B} < all", Verdict.UNDECIDED),
        (f"{A} < all", Verdict.CONTRADICTED),
        (f"{A} > each of {B}, {C}", Verdict.SUPPORTED),
        (f"{A} >= 1.2 x {B}", Verdict.SUPPORTED),
        (f"{A} >= 1.5 x {B}", Verdict.CONTRADICTED),
        (f"{B} <= 0.8 x {A}", Verdict.SUPPORTED),
        (f"{B} <= 0.5 x {A}", Verdict.CONTRADICTED),
        (f"{A} > {B} by 20bit/s", Verdict.SUPPORTED),
        (f"{A} > {B} by 50bit/s", Verdict.CONTRADICTED),
        (f"{B} < {A} by 20bit/s", Verdict.SUPPORTED),
        (f"{B} < {A} by 50bit/s", Verdict.CONTRADICTED),
        (f"{B} within 5% of {C}", Verdict.SUPPORTED),
        (f"{A} within 5% of {C}", Verdict.CONTRADICTED),
        (f"{B} no different from {C}", Verdict.SUPPORTED),
        (f"{A} no different from {C}", Verdict.CONTRADICTED),
        (f"{A} > 120bit/s", Verdict.SUPPORTED),
        (f"{A} > 140bit/s", Verdict.CONTRADICTED),
        (f"120bit/s < {A}", Verdict.SUPPORTED),
        (f"{A} within 5% of 131bit/s", Verdict.SUPPORTED),
        (f"{A} > best of {B}, {C}", Verdict.SUPPORTED),
        (f"best of {A}, {B} > {C}", Verdict.SUPPORTED),
        (f"{A} > {B} and {B} > {A}", Verdict.CONTRADICTED),
        (f"{A} > {B} and {A} > 120bit/s", Verdict.SUPPORTED),
    ],
)
def test_each_relation_has_its_verdict(test: str, expected: Verdict) -> None:
    assert verdict(test, VALUES).verdict is expected


def test_a_claim_whose_cells_an_ended_run_left_out_is_not_measured() -> None:
    given = study(f"{ON}: {A} > {B}", f"{ON}: {A} > {C}")
    kept = cell(given, {name: VALUES[name] for name in (A, B)})
    one, other = judge(given, kept, ended=True)
    assert (one.verdict, one.p_value is None) == (Verdict.SUPPORTED, False)
    assert (other.verdict, other.p_value) == (Verdict.NOT_MEASURED, None)
    assert other.why == f"{C}: the run has no trial of udp, clean"
    assert str(other.verdict) == "not measured"
    _, waiting = judge(given, kept)
    assert (waiting.verdict, waiting.more) == (Verdict.UNDECIDED, 5)


def test_the_effect_is_left_over_right_with_its_interval() -> None:
    found = verdict(f"{A} > {B}", VALUES)
    assert found.telling is not None
    effect = found.telling.effect
    assert effect is not None
    assert effect.ratio
    assert effect.low < 1.3 < effect.high
    assert effect.value == pytest.approx(1.3, rel=0.02)
    assert (found.telling.n, found.telling.paired) == (12, True)
    difference = verdict(f"{A} > {B} by 20bit/s", VALUES).telling
    assert difference is not None
    assert difference.effect is not None
    assert not difference.effect.ratio
    assert difference.effect.value == pytest.approx(30, rel=0.05)


def test_the_best_of_latencies_is_the_least() -> None:
    given = study(f"rtt.rtt_p50_us: {C} > best of {A}, {B}", body='[[measurement]]\nkind = "rtt"\n')
    values = {A: series(50), B: series(200), C: series(100)}
    (found,) = judge(given, cell(given, values, metric="rtt_p50_us"))
    assert found.verdict is Verdict.SUPPORTED


def test_a_block_that_is_slow_for_all_cancels() -> None:
    weather = np.linspace(0.5, 2.0, 12)
    values = {A: list(weather * series(110)), B: list(weather * series(100))}
    assert verdict(f"{A} > {B}", values).verdict is Verdict.SUPPORTED


def test_it_must_hold_in_every_context_that_is_not_named() -> None:
    for filters, expected in (
        ("", Verdict.CONTRADICTED),
        ("[packet_size=64]", Verdict.SUPPORTED),
        ("[packet_size=max]", Verdict.CONTRADICTED),
    ):
        given = study(f"{ON}{filters}: {A} > {B}", body=BOTH)
        small = cell(given, {A: series(130), B: series(100)})
        large = cell(given, {A: series(900), B: series(1000)}, index=1, first_trial=100)  # type: ignore[arg-type]
        (found,) = judge(given, pl.concat([small, large]))
        assert found.verdict is expected
        assert len(found.parts) == (2 if not filters else 1)


def test_sides_in_different_contexts_are_not_paired() -> None:
    given = study(f"{ON}[packet_size=64]: {A} > {A}[packet_size=max]", body=BOTH)
    small = cell(given, {A: series(130)})
    large = cell(given, {A: series(100)}, index=1, first_trial=100)  # type: ignore[arg-type]
    (found,) = judge(given, pl.concat([small, large]))
    assert found.verdict is Verdict.SUPPORTED
    assert found.telling is not None
    assert not found.telling.paired


def test_what_is_named_may_leave_one_cell_on_each_side() -> None:
    body = (
        '[[measurement]]\nkind = "udp"\npacket_size = 64\nduration = "5s"\n'
        '[[measurement]]\nkind = "udp"\npacket_size = "max"\n'
    )
    given = study(f"{ON}: {A}[packet_size=64] > {A}[packet_size=max]", body=body)
    small = cell(given, {A: series(130)})
    large = cell(given, {A: series(100)}, index=1, first_trial=100)  # type: ignore[arg-type]
    (found,) = judge(given, pl.concat([small, large]))
    assert found.verdict is Verdict.SUPPORTED


def test_what_is_unsupported_is_not_testable_and_says_why() -> None:
    given = study(f"{ON}: {A} > all", f"{ON}: {A} > {B}")
    broken = cell(given, {C: [None] * 5}, status="unsupported").with_columns(
        metric=pl.lit(None, pl.String), reason=pl.lit("no kernel module")
    )
    measured = cell(given, {A: series(130), B: series(100)})
    first, second = judge(given, pl.concat([measured, broken]))
    assert first.verdict is Verdict.NOT_TESTABLE
    assert "no kernel module" in first.why
    assert C in first.why
    assert second.verdict is Verdict.SUPPORTED


def test_what_is_lacking_is_not_testable_before_anything_runs() -> None:
    head = 'name = "s"\nvpns = ["wireguard/go", "tinc"]\n'
    lacking = '[[lacking]]\nkind = "vpn"\nname = "tinc"\nreason = "no driver yet"\n'
    given = study(f"{ON}: tinc > {A}", head=head, body=UDP + lacking)
    (found,) = judge(given, rows({}))
    assert found.verdict is Verdict.NOT_TESTABLE
    assert "no driver yet" in found.why


def test_one_contradiction_is_enough_whatever_could_not_be_tested() -> None:
    given = study(f"{ON}: {B} > all")
    broken = cell(given, {C: [None] * 5}, status="failed")
    (found,) = judge(given, pl.concat([cell(given, {A: series(130), B: series(100)}), broken]))
    assert found.verdict is Verdict.CONTRADICTED


def test_no_trials_yet_is_undecided_and_says_how_many() -> None:
    given = study(f"{ON}: {A} > {B}")
    (none,) = judge(given, rows({}))
    assert (none.verdict, none.more) == (Verdict.UNDECIDED, 5)
    (few,) = judge(given, cell(given, {A: [1.0, 2.0], B: [1.0, 2.0]}))
    assert (few.verdict, few.more) == (Verdict.UNDECIDED, 3)


def test_undecided_says_how_many_more() -> None:
    values = {A: series(101, sd=0.03), B: series(100, sd=0.03)}
    found = verdict(f"{A} > {B}", values)
    assert found.verdict is Verdict.UNDECIDED
    assert found.more is not None
    assert found.more > 10
    assert not found.hopeless


def test_what_drifts_is_never_decided_by_more() -> None:
    values = {A: list(np.linspace(80, 125, 20) + series(1, 20)), B: series(102, 20)}
    found = verdict(f"{A} > {B}", values)
    assert found.verdict is Verdict.UNDECIDED
    assert found.hopeless
    assert "the values drift" in found.why


def test_a_claim_without_a_test() -> None:
    given = parse(HEAD + UDP + '[[claim]]\nid = "c"\ntext = "nice"\n')
    (found,) = judge(given, cell(given, VALUES))
    assert (found.verdict, found.decided) == (Verdict.NOT_TESTABLE, True)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (f"{A} > {B}", Verdict.SUPPORTED),  # both in user space
        (f"{A} < {B}", Verdict.CONTRADICTED),
        (f"{A} > {C}", Verdict.NOT_TESTABLE),
        (f"best of {A}, {C} > {B}", Verdict.NOT_TESTABLE),
        (f"{A} > all", Verdict.NOT_TESTABLE),
        (f"{A} > {B} and {A} > {C}", Verdict.NOT_TESTABLE),
        (f"{A} < {B} and {A} > {C}", Verdict.CONTRADICTED),
        (f"{C} < none", Verdict.SUPPORTED),  # without a VPN only the kernel works
        (f"{A} < none", Verdict.NOT_TESTABLE),
        (f"{A} > 1bit/s", Verdict.NOT_TESTABLE),
    ],
)
def test_nothing_is_decided_across_a_line(test: str, expected: Verdict) -> None:
    sides = {A: "user space", B: "user space", C: "kernel", "none": "kernel"}
    given = study(f"{ON}: {test}")
    frame = cell(given, VALUES | {"none": series(900)})
    (found,) = judge(given, frame, line=Line("emulated", sides))
    assert found.verdict is expected, found.why
    if expected is Verdict.NOT_TESTABLE:
        assert found.why.startswith("emulated")


@pytest.mark.parametrize(("key", "expected"), [("aes = false", True), ('delay = "1ms"', False)])
def test_an_emulated_kernel_says_nothing_of_processors(key: str, expected: bool) -> None:
    conditions = f'[[condition]]\nname = "plain"\n[[condition]]\nname = "other"\n{key}\n'
    test = f"{ON}: {A}[condition=plain] > {A}[condition=other]"
    given = study(test, body=LINK + conditions + UDP)
    parameters = next(iter(given.requested.values()))[0].parameters
    frame = pl.concat(
        rows({A: series(mean)}, measurement="udp", parameters=parameters).with_columns(
            condition=pl.lit(name)
        )
        for name, mean in (("plain", 200), ("other", 100))
    )
    (found,) = judge(given, frame, line=Line("emulated", {A: "user space"}))
    assert (found.verdict is Verdict.NOT_TESTABLE) == expected
    assert (found.verdict is Verdict.SUPPORTED) != expected
    (found,) = judge(given, frame)
    assert found.verdict is Verdict.SUPPORTED


def test_labels_name_a_series() -> None:
    for label, expected in (
        ("label.node=a", Verdict.SUPPORTED),
        ("label.node=b", Verdict.CONTRADICTED),
        ("label.node=c", Verdict.NOT_TESTABLE),
    ):
        given = study(f"udp.memory_peak_bytes[{label}]: {A} > 100bytes")
        frames = [
            cell(given, {A: values}, metric="memory_peak_bytes", labels=f'{{"node":"{node}"}}')
            for node, values in (("a", series(130)), ("b", series(50)))
        ]
        (found,) = judge(given, pl.concat(frames))
        assert found.verdict is expected, found.why


def test_the_margin_is_the_claims_own() -> None:
    values = {A: series(103), B: series(100)}
    test = f"{A} no different from {B}"
    assert verdict(test, values).verdict is Verdict.SUPPORTED
    assert verdict(test, values, margin='margin = "2%"\n').verdict is Verdict.CONTRADICTED


@given(st.permutations(range(12)), st.sampled_from([1e-3, 7.0, 1e6]))
@settings(max_examples=25, deadline=None)
def test_the_order_of_rows_and_the_unit_do_not_matter(order: list[int], scale: float) -> None:
    given_ = study(f"{ON}: {A} > {B}", f"{ON}: {A} within 5% of {B}")
    frame = cell(given_, {A: series(104, sd=0.02), B: series(100, sd=0.02)})
    turned = frame[[*order, *(12 + place for place in order)]].with_columns(pl.col("value") * scale)
    before, after = judge(given_, frame), judge(given_, turned)
    for one, other in zip(before, after, strict=True):
        assert one.verdict is other.verdict
        assert one.p_value == pytest.approx(other.p_value)


def test_a_claim_and_its_opposite_never_both_hold() -> None:
    for seed in range(40):
        values = {A: series(102, sd=0.02, seed=seed), B: series(100, sd=0.02, seed=seed)}
        given = study(f"{ON}: {A} > {B}", f"{ON}: {A} < {B}")
        one, other = (found.verdict for found in judge(given, cell(given, values)))
        mirrored = {
            Verdict.SUPPORTED: Verdict.CONTRADICTED,
            Verdict.CONTRADICTED: Verdict.SUPPORTED,
        }
        assert other is mirrored.get(one, one)


TIMES = 300
LUCK = 3 * math.sqrt(0.05 * 0.95 / TIMES)


@pytest.mark.parametrize("order", ["random", "listed"])
def test_equal_vpns_are_seldom_given_a_verdict(order: str) -> None:
    """Four claims at once while the machine drifts: any verdict at all would be a false one.

    From trial to trial the drift's correlation is 0.9, so from block to block it is 0.66. In
    random blocks that is no correlation of differences; in listed ones it is allowed for.
    """
    tests = [f"{ON}: {x} > {y}" for x, y in ((A, B), (B, C), (A, "none"), (C, "none"))]
    given = study(*tests, body=UDP + f'[plan]\norder = "{order}"\n')
    rng = np.random.default_rng(1)
    wrong = 0
    for one in 0.02 * correlated(rng, TIMES, 40, 0.9).reshape(TIMES, 10, 4):
        placed = rng.permuted(one, axis=1) if order == "random" else one
        figures = 100 * np.exp(placed + 0.005 * rng.standard_normal(placed.shape))
        values = dict(zip(("none", A, B, C), map(list, figures.T), strict=True))
        found = judge(given, cell(given, values))
        wrong += any(claim.verdict is not Verdict.UNDECIDED for claim in found)
    assert wrong / TIMES <= 0.05 + LUCK


def test_no_different_is_contradicted_only_outside_its_margin() -> None:
    """A true difference of 4 % within a margin of 5 %: neither word would be earned."""
    given = study(f"{ON}: {A} no different from {B}")
    rng = np.random.default_rng(3)
    contradicted = 0
    for _ in range(TIMES):
        a, b = 100 * np.exp(0.02 * rng.standard_normal((2, 20)))
        (found,) = judge(given, cell(given, {A: list(0.96 * a), B: list(b)}))
        contradicted += found.verdict is Verdict.CONTRADICTED
    assert contradicted / TIMES <= 0.05
    far = {A: series(80, 20, 0.02), B: series(100, 20, 0.02, seed=2)}
    assert judge(given, cell(given, far))[0].verdict is Verdict.CONTRADICTED


LOOKS = '[plan]\nblocks = { min = 5, max = 20, until = "claims decided" }\n'


def test_looking_after_every_block_does_not_decide_more_often() -> None:
    """Correlated by 0.6, the most that is allowed for: any verdict would be a false one."""
    looks = looks_at_claims(study(f"{ON}: {A} > {B}", body=UDP + LOOKS), 0.05)
    assert (looks.first, looks.last) == (5, 20)
    wrong = 0
    for differences in correlated(np.random.default_rng(2), TIMES, 20, 0.6).reshape(TIMES, 20):
        seen = ((n, paired_contrast(differences[:n], cautious=True)) for n in range(5, 21))
        wrong += any(told and told.p_two_sided() <= looks.level(n) for n, told in seen)
    assert wrong / TIMES <= 0.05 + LUCK


def test_a_plan_that_looks_asks_for_more_at_each_look() -> None:
    values = {A: series(101, sd=0.008), B: series(100, sd=0.008)}
    once, often = (
        judge(given, cell(given, values))[0].p_value
        for given in (study(f"{ON}: {A} > {B}", body=UDP + plan) for plan in ("", LOOKS))
    )
    assert once is not None
    assert often is not None
    assert 0 < once < often < 1


def test_clear_effects_are_decided_at_the_first_look() -> None:
    given = study(f"{ON}: {A} > {B}", body=UDP + LOOKS)
    n = Design.of(json.loads(given.canonical)).fewest
    (found,) = judge(given, cell(given, {A: series(200, n, 0.03), B: series(100, n, 0.03)}))
    assert found.verdict is Verdict.SUPPORTED


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(3, 12),
    st.sampled_from(["random", "listed"]),
    st.floats(0, 0.08),
)
def test_which_of_two_is_above_has_the_answer_of_its_column(
    seed: int, blocks: int, order: str, effect: float
) -> None:
    tests = [f"{ON}: {x} > {y}" for x, y in ((A, B), (B, A), (A, C), (C, "none"))]
    given = study(*tests, body=UDP + f'[plan]\norder = "{order}"\n')
    rng = np.random.default_rng(seed)
    figures = 100 * np.exp(0.03 * rng.standard_normal((blocks, 4)) + [0, effect, 0, -effect])
    values = dict(zip(("none", A, B, C), map(list, figures.T), strict=True))
    in_blocks = {name: dict(enumerate(found)) for name, found in values.items()}
    decided = column(in_blocks, Design.of(json.loads(given.canonical)), Better.MORE)
    for claim, (x, y) in zip(
        judge(given, cell(given, values)), ((A, B), (B, A), (A, C), (C, "none")), strict=True
    ):
        pair = decided.between(x, y)
        assert pair is not None
        expected = Verdict.UNDECIDED
        if pair.apart:
            expected = Verdict.SUPPORTED if pair.above else Verdict.CONTRADICTED
        assert claim.verdict is expected
        if pair.contrast is not None:
            assert claim.telling is not None
            assert claim.telling.effect is not None
            assert claim.telling.effect.value == pytest.approx(ratio_of(pair.contrast.estimate))


@pytest.mark.parametrize("count", [5, 8])
def test_that_one_is_above_all_is_seldom_said_of_equals(count: int) -> None:
    """Nor that one is above another, whatever the number of such claims on one column."""
    names = ("none", A, B, C)
    tests = [f"{ON}: {x} > {y}" for x in names for y in names if x < y]
    given = study(*tests)
    rng = np.random.default_rng(count)
    wrong = 0
    for _ in range(TIMES):
        figures = 100 * np.exp(0.03 * rng.standard_normal((count, 4)))
        found = judge(given, cell(given, dict(zip(names, map(list, figures.T), strict=True))))
        wrong += any(claim.verdict is not Verdict.UNDECIDED for claim in found)
    assert wrong / TIMES <= 0.05 + LUCK


def test_what_never_varies_says_truly_how_many_more_it_takes() -> None:
    tests = [f"{ON}: {A} > {B}"] * 4
    given = study(*tests)

    def of(n: int) -> Judged:
        return judge(given, cell(given, {A: [110.0] * n, B: [100.0] * n}))[0]

    found = of(5)
    assert found.verdict is Verdict.UNDECIDED
    assert found.more is not None
    assert of(5 + found.more).verdict is Verdict.SUPPORTED
    assert of(5 + found.more - 2).verdict is Verdict.UNDECIDED


def test_published_values_stand_beside_what_was_measured() -> None:
    table = (
        '[[published]]\nvpn = "{vpn}"\nmeasurement = "udp"\nmetric = "goodput_bps"\n'
        'value = 0.2\nunit = "kbit/s"\nplace = "table 3"\n'
    )
    given = parse(HEAD + UDP + table.format(vpn=A) + table.format(vpn=B))
    frame = cell(given, {A: [99.0, 100.0, 101.0]})
    first, second = beside(given, frame, summarise(frame))
    assert (first.measured, first.n, first.published.value) == (100.0, 3, 200.0)
    assert first.ratio == pytest.approx(0.5)
    assert (second.measured, second.why) == (None, "not measured yet")


def test_who_lacks_the_same_is_named_together() -> None:
    lacks = [Lack("missing: ESP", "a"), Lack("it died", "b"), Lack("missing: ESP", "c")]
    assert joined([*lacks, Lack("no cell: x")]) == "a, c: missing: ESP; b: it died; no cell: x"
