"""What a gate judges of a run, and its words."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from culvert.analysis.observations import observations
from culvert.compare.gate import advice, headline, in_words, judge_head
from culvert.decide.gate import Judged, Look, Outcome
from tests.analysis.frames import rows

BASE, HEAD = "wireguard/go@base", "wireguard/go@head"


def observed(slow: float, *, attributable: bool = True) -> pl.DataFrame:
    """Twelve blocks of a head that needs ``slow`` more CPU time; the probe has the machine's."""
    rng = np.random.default_rng(1)
    machine = 0.05 * rng.standard_normal((2, 12))
    figures = {
        "cpu_vpn_s_per_gb": machine + 0.01 * rng.standard_normal((2, 12)),
        "cpu_s_per_gb": 0.1 * rng.standard_normal((2, 12)),
        "cpu_probe_s_per_gb": machine,
        "goodput_bps": 0.1 * rng.standard_normal((2, 12)),
    }
    if not attributable:
        del figures["cpu_vpn_s_per_gb"]
    frames = []
    for metric, logs in figures.items():
        logs[1] += np.log1p(slow) if metric != "cpu_probe_s_per_gb" else 0.0
        values = dict(zip((BASE, HEAD), np.exp(logs).tolist(), strict=True))
        frames.append(rows(values, metric=metric, measurement="tcp"))
    return observations(pl.concat(frames))


def test_the_primary_figure_is_the_vpns_cpu_time_with_the_probes_as_covariate() -> None:
    found = judge_head(observed(0.05), BASE, HEAD, margin=0.0, alpha=0.05)
    assert [one.name for one in found] == ["cpu_vpn_s_per_gb", "goodput_bps"]
    assert found[0].outcome is Outcome.SLOWER
    assert found[0].slowdown == pytest.approx(1.05, abs=0.01)
    assert headline(found) == "The head is slower"
    equal = judge_head(observed(0.0), BASE, HEAD, margin=0.0, alpha=0.05)
    assert [one.outcome for one in equal] == [Outcome.NOT_SLOWER, Outcome.NOT_TESTED]
    assert judge_head(observed(0.05), BASE, HEAD, margin=0.1, alpha=0.05)[0].outcome is (
        Outcome.NOT_SLOWER
    )


def test_where_the_kernel_does_the_work_it_is_the_machines() -> None:
    found = judge_head(observed(0.0, attributable=False), BASE, HEAD, margin=0.0, alpha=0.05)
    assert [one.name for one in found] == ["cpu_s_per_gb", "goodput_bps"]


def test_without_figures_nothing_is_judged() -> None:
    none = observed(0.0).filter(metric="no such metric")
    assert judge_head(none, BASE, HEAD, margin=0.0, alpha=0.05) == ()
    few = observed(0.0).filter(pl.col("block") < 4)
    found = judge_head(few, BASE, HEAD, margin=0.0, alpha=0.05)
    assert headline(found) == "Cannot tell: fewer than 5 blocks with both"
    head = observed(0.0).filter(vpn=BASE)
    assert judge_head(head, BASE, HEAD, margin=0.0, alpha=0.05)[0].fails


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (
            Judged("x", Outcome.SLOWER, 20, 1.05, 1.08, 1.03, 0.001),
            "CPU: slower by 5 %, no slowdown above 8 % (95 %); "
            "20 blocks find 3 % in 80 of 100 runs",
        ),
        (
            Judged("x", Outcome.NOT_SLOWER, 20, 0.9, 0.95, 1.03, 1.0),
            "CPU: not shown to be slower, no slowdown (95 %); 20 blocks find 3 % in 80 of 100 runs",
        ),
        (Judged("x", Outcome.BROKEN, 0), "CPU: no trial of the head counts"),
    ],
)
def test_the_bound_and_what_could_have_been_found_are_always_said(
    judged: Judged, words: str
) -> None:
    assert in_words(judged, "CPU") == words


def test_the_title_is_the_bound_or_why_there_is_none() -> None:
    passed = Judged("x", Outcome.NOT_SLOWER, 20, 1.0, 1.021, 1.03, 0.4)
    assert headline((passed,)) == "No slowdown above 2.1 % (95 %)"
    unsure = Judged("x", Outcome.UNSURE, 20, 1.0, 1.021, 1.03, 0.4)
    assert headline((unsure,)).startswith("Cannot tell: a slowdown above the accepted one")


def test_advice_is_in_minutes_and_an_early_end_is_said() -> None:
    once, early = Look((45, 120, 300), 2), Look((45, 120, 300), 0)
    wide = Judged("x", Outcome.NOT_SLOWER, 20, 1.0, 1.08, 1.1, 0.4)
    # Half the width takes about four times the time.
    assert advice((wide,), once, 0.0) == "--budget 20min would find 5 %"
    assert advice((wide,), once, 0.1) == ""
    assert advice((), once, 0.0) == ""
    found = Judged("x", Outcome.SLOWER, 8, 1.2, 1.3, 1.1, 0.001)
    assert advice((found,), once, 0.0) == ""
    assert advice((found,), early, 0.0).startswith("ended after 45 of 300 s")
