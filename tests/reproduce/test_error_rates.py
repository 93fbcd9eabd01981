"""The rates that docs/reproduce.md states, simulated."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.verdict import Judged, Verdict
from culvert.compare.side import Side
from culvert.report.run_info import RunInfo
from culvert.reproduce.figures import compared_figures
from culvert.reproduce.outcome import OF_CHANGE, Reproduction, claim_again
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue
from tests.analysis.frames import rows
from tests.compare.runs import STUDY

ALPHA, TOLERANCE = 0.05, 0.1
TIMES = 200
LUCK = 3 * sqrt(ALPHA * (1 - ALPHA) / TIMES)
VPNS = ("wireguard/go", "openvpn/aes-256-gcm", "c", "d")
CLAIM = f"""
[[claim]]
id = "c"
text = "the first is faster"
test = "tcp.goodput_bps: {VPNS[0]} > {VPNS[1]}"
"""


def _side(rng: np.random.Generator, speed: float, costs: list[float], blocks: int) -> Side:
    """A machine of that speed, which drifts from block to block by 3 %, its trials by 2 %."""
    drift = speed * np.exp(0.03 * np.cumsum(rng.standard_normal(blocks)))
    every = dict(zip(("none", *VPNS), (1.0, *costs), strict=False))
    values = {
        vpn: list(drift * cost * np.exp(0.02 * rng.standard_normal(blocks)))
        for vpn, cost in every.items()
    }
    frame = rows(values)
    run = RunInfo(started_at=str(speed))  # another one for each machine
    return Side(Path(str(speed)), None, run, frame, frame)


def _rates(changed: float, blocks: int, times: int = TIMES) -> dict[Reproduction, float]:
    """How often any of four figures gets each verdict, on a machine of half the speed where VPNs
    have this multiple of their published figures."""
    rng = np.random.default_rng(blocks)
    published = [0.9, 0.7, 0.5, 0.3]
    seen = dict.fromkeys(Reproduction, 0)
    for _ in range(times):
        before = _side(rng, 1e9, published, blocks)
        now = _side(rng, 5e8, [changed * one for one in published], blocks)
        found = compared_figures(before, now, tolerance=TOLERANCE, alpha=ALPHA)
        assert found is not None
        for verdict in {OF_CHANGE[one.change] for one in found.found if not one.control}:
            seen[verdict] += 1
    return {verdict: count / times for verdict, count in seen.items()}


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [6, 11])
def test_figures_at_the_tolerance_are_seldom_reproduced_or_contradicted(blocks: int) -> None:
    """The worst case of both statements: a true difference of the tolerance, in each figure."""
    seen = _rates(1 - TOLERANCE, blocks)
    assert seen[Reproduction.CONTRADICTED] <= ALPHA + LUCK
    assert seen[Reproduction.REPRODUCED] <= ALPHA + LUCK


def test_equal_figures_are_reproduced_and_far_ones_contradicted() -> None:
    same = _rates(1.0, 11, 50)
    assert same[Reproduction.REPRODUCED] >= 0.95
    assert same[Reproduction.CONTRADICTED] <= 0.01
    assert _rates(0.75, 11, 50)[Reproduction.CONTRADICTED] >= 0.95


def _published(verdict: Verdict) -> Judged:
    return Judged("c", "", "", "", "", "", "", verdict, 0.01, None, (), None, "")


def test_where_a_claim_is_on_the_edge_it_is_seldom_answered() -> None:
    """Both VPNs are equal here: whatever the published run says, each answer is an error."""
    study = Study.parse(STUDY + CLAIM, installed_catalogue())
    parameters = next(iter(study.requested.values()))[0].parameters
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(TIMES):
        drift = np.exp(0.03 * np.cumsum(rng.standard_normal(10)))
        noise = np.exp(0.02 * rng.standard_normal((3, 10)))
        values = dict(zip(("none", *VPNS), (drift * noise).tolist(), strict=False))
        (now,) = judge(study, rows(values, parameters=parameters))
        again = claim_again(_published(Verdict.SUPPORTED), now)
        wrong += again.verdict is not Reproduction.UNCLEAR
    assert wrong / TIMES <= ALPHA + LUCK
