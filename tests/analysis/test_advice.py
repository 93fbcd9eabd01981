"""Enough, not enough, cannot tell: with the stated error rates, and never beyond the data."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from culvert.analysis.advice import Advice, Requirement, Verdict, advise
from culvert.journal.frames import ROWS_SCHEMA
from culvert.plan.precision import looks_of

BLOCKS = 9
RUNS = 300
SCATTER = 0.04


def rows(
    trials: dict[int, list[float]],
    measurement: str = "gateway_load",
    figure: str = "goodput_bps",
    **parameters: object,
) -> pl.DataFrame:
    found = []
    for clients, values in trials.items():
        for block, value in enumerate(values, 1):
            for metric, unit, stated in (
                (figure, "bit/s", value),
                ("gateway_cpu_percent", "%", 80.0),
            ):
                row: dict[str, object] = dict.fromkeys(ROWS_SCHEMA)
                row |= {
                    "block": block,
                    "trial": 1000 * clients + block,
                    "vpn": "wireguard/go",
                    "condition": "clean",
                    "measurement": measurement,
                    "parameters": json.dumps({"clients": clients, "rate": None, **parameters}),
                    "metric": metric,
                    "labels": "{}",
                    "unit": unit,
                    "value": stated,
                    "status": "ok",
                }
                found.append(row)
    return pl.DataFrame(found, schema=ROWS_SCHEMA)


def sample(generator: np.random.Generator, middle: float, blocks: int = BLOCKS) -> list[float]:
    return list(middle * np.exp(generator.normal(0, SCATTER, blocks)))


def advice(trials: dict[int, list[float]], clients: int, rate: float = 1e9) -> Advice:
    (found,) = advise(rows(trials), Requirement(rate, clients))
    return found


@pytest.mark.parametrize(("truth", "wrong"), [(0.999, Verdict.ENOUGH), (1.001, Verdict.NOT_ENOUGH)])
def test_a_wrong_statement_is_made_in_at_most_five_of_a_hundred_cases(
    truth: float, wrong: Verdict
) -> None:
    generator = np.random.default_rng(3)
    verdicts = [advice({200: sample(generator, truth * 1e9)}, 200).verdict for _ in range(RUNS)]
    # Of 300 with 5 % more than 26 are wrong with a probability below 0.005.
    assert verdicts.count(wrong) <= 26


def test_what_is_clearly_more_or_less_is_found() -> None:
    generator = np.random.default_rng(5)
    for factor, verdict in ((1.2, Verdict.ENOUGH), (0.8, Verdict.NOT_ENOUGH)):
        found = [advice({200: sample(generator, factor * 1e9)}, 200).verdict for _ in range(50)]
        assert found.count(verdict) >= 45


def test_the_figure_its_interval_and_the_cpu_are_stated() -> None:
    found = advice({200: [1.2e9 + 1e6 * i for i in range(BLOCKS)]}, 200)
    assert found.verdict is Verdict.ENOUGH
    assert found.median_bps == pytest.approx(1.204e9)
    assert found.low_bps is not None
    assert found.low_bps < 1.204e9
    assert found.cpu_percent == 80
    assert found.basis == "measured with 200 clients in 9 trials"
    assert found.cpu_clients == 200


def test_a_few_trials_do_not_tell_and_it_says_what_would() -> None:
    found = advice({200: [2e9, 2.1e9]}, 200)
    assert found.verdict is Verdict.CANNOT_TELL
    assert found.basis == "measured with 200 clients in 2 trials, too few for an interval"
    assert found.to_measure == "clients = 200, in 6 blocks or more"


def test_a_run_that_a_rule_could_end_is_decided_at_the_level_of_its_look() -> None:
    values = [0.95e9, 1.06e9, 1.02e9, 1.05e9, 1.01e9, 1.04e9, 1.03e9, 1.07e9, 1.02e9]
    once, stopped = advise(rows({200: values}), Requirement(1e9, 200)), looks_of(True, 6, 12)
    (looked,) = advise(rows({200: values}), Requirement(1e9, 200), stopped)
    assert once[0].verdict is Verdict.ENOUGH
    assert looked.verdict is Verdict.CANNOT_TELL
    (early,) = advise(rows({200: values[:6]}), Requirement(0.5e9, 200), stopped)
    assert early.verdict is Verdict.CANNOT_TELL
    assert early.to_measure == "clients = 200, in 7 blocks or more"


def test_between_two_measured_numbers_the_lower_one_counts() -> None:
    generator = np.random.default_rng(6)
    both = {100: sample(generator, 1.5e9), 400: sample(generator, 1.2e9)}
    found = advice(both, 200)
    assert found.verdict is Verdict.ENOUGH
    assert found.basis.startswith("measured with 100 and with 400 clients")


def test_up_to_twice_the_largest_number_the_law_decides_and_beyond_nothing() -> None:
    generator = np.random.default_rng(7)
    plateau = {n: sample(generator, 2e9 * n / (4 + n)) for n in (1, 4, 16, 64, 100)}
    found = advice(plateau, 200)
    assert found.verdict is Verdict.ENOUGH
    assert found.basis.startswith("estimated by a curve")
    assert found.basis.endswith("through 5 measured numbers of clients, 1 to 100")
    assert advice(plateau, 200, rate=4e9).verdict is Verdict.NOT_ENOUGH
    beyond = advice(plateau, 201)
    assert beyond.verdict is Verdict.CANNOT_TELL
    assert beyond.basis == "measured with at most 100 clients: no estimate beyond 200"
    assert beyond.to_measure == "clients = 201, in 6 blocks or more"


def test_clients_with_a_rate_never_show_that_a_gateway_is_too_slow() -> None:
    generator = np.random.default_rng(8)
    found = advice({200: sample(generator, 0.5e9)}, 200, rate=1e9)
    assert found.verdict is Verdict.NOT_ENOUGH
    frame = rows({200: sample(generator, 0.5e9)}, rate="2500kbit/s")
    (paced,) = advise(frame, Requirement(1e9, 200))
    assert paced.verdict is Verdict.CANNOT_TELL
    assert "a higher rate" in paced.to_measure


@pytest.mark.long
def test_a_curve_decides_wrongly_at_any_look_in_at_most_five_of_a_hundred_runs() -> None:
    generator = np.random.default_rng(9)
    looks = looks_of(True, 6, 12)
    middles = {n: 2e9 * n / (4 + n) for n in (1, 4, 16, 64, 128)}
    truth = Requirement(2e9 * 200 / (4 + 200), 200)  # each decision about it is wrong
    decided = 0
    for _ in range(50):
        whole = {n: sample(generator, middle, 12) for n, middle in middles.items()}
        for blocks in range(6, 13):
            (found,) = advise(rows({n: whole[n][:blocks] for n in whole}), truth, looks)
            if found.verdict is not Verdict.CANNOT_TELL:
                decided += 1
                break
    # Of 50 with 5 % more than 7 are wrong with a probability below 0.005.
    assert decided <= 7


def test_a_search_for_the_rate_is_judged_by_what_is_lost_little_of() -> None:
    trials = {200: [1.2e9 + 1e6 * i for i in range(BLOCKS)]}
    searched = rows(trials, "gateway_search", "pdr_bps")
    (found,) = advise(searched, Requirement(1e9, 200))
    assert (found.measurement, found.verdict) == ("gateway_search", Verdict.ENOUGH)
    of_clients = rows(trials, "gateway_search", "pdr_bps", rate="2Mbit/s")
    assert advise(of_clients, Requirement(1e9, 200)) == []
