"""Error rates and power of what Culvert states, of at least 2,000 simulated studies each.

Each goal lists the rate of every case with its Monte Carlo interval (Wilson) in results.json; the
line shows the worst. The intervals of a goal hold together in 95 %: it is met where none lies
beyond the bound.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import combinations
from math import log, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np
import polars as pl

from bench.goal import Goal, Samples
from culvert.analysis.claims.judge import judge
from culvert.analysis.claims.verdict import Verdict
from culvert.decide.contrast import (
    Contrast,
    paired_contrast,
    run_contrast,
    unpaired_contrast,
)
from culvert.decide.decision import Decision, decide
from culvert.journal.frames import ROWS_SCHEMA
from culvert.metrics import Better
from culvert.plan.plan import Plan
from culvert.plan.precision import PrecisionState, precision_of
from culvert.statistics.intervals import median_intervals
from culvert.statistics.looks import ONCE, Looks, levels
from culvert.statistics.values import Array
from culvert.study.blocks import StopRule
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

STUDIES = 2000
ALPHA = 0.05
NAMES = tuple("abcdefgh")


def wilson(hits: int, of: int, among: int = 1) -> tuple[float, float]:
    """The interval of a rate (Wilson, JASA 22, 1927), 95 % for so many together (Bonferroni)."""
    z, rate = NormalDist().inv_cdf(1 - 0.025 / among), hits / of
    middle, half = rate + z**2 / (2 * of), z * sqrt(rate * (1 - rate) / of + (z / (2 * of)) ** 2)
    return (middle - half) / (1 + z**2 / of), (middle + half) / (1 + z**2 / of)


def following(rng: np.random.Generator, count: int, length: int, rho: float) -> Array:
    """Stationary series, standard normal, with that lag-1 correlation."""
    found = rng.standard_normal((count, length))
    for step in range(1, length):
        found[:, step] = rho * found[:, step - 1] + sqrt(1 - rho**2) * found[:, step]
    return found


class Rate(Goal):
    """The worst of a few rates, each to be at most (or at least) ``bound``."""

    unit: ClassVar[str] = "1"
    bound: ClassVar[float]
    at_least: ClassVar[bool] = False
    studies: ClassVar[int] = STUDIES

    @abstractmethod
    def cases(self) -> Iterator[tuple[str, int]]:
        """Of each case its name and how many of ``studies`` had it."""

    def measure(self) -> Samples:
        """Once: a simulation with fixed seeds."""
        found = dict(self.cases())
        details = []
        for name, hits in found.items():
            rate, (low, high) = hits / self.studies, wilson(hits, self.studies, len(found))
            details.append({"case": name, "rate": rate, "low": low, "high": high})
            print(f"  {name}: {rate:.1%} [{low:.1%}, {high:.1%}]")
        rates = [hits / self.studies for hits in found.values()]
        return Samples(ours=[min(rates) if self.at_least else max(rates)], details=details)

    def met(self, samples: Samples) -> bool:
        """No interval is beyond the bound."""
        if self.at_least:
            return all(one["high"] >= self.bound for one in samples.details)
        return all(one["low"] <= self.bound for one in samples.details)


class MedianCoverage(Rate):
    """Of intervals of medians, independent trials."""

    name: ClassVar[str] = "median-coverage"
    studies: ClassVar[int] = 4000
    what: ClassVar[str] = "intervals of medians that cover them, 6 to 30 trials"
    goal: ClassVar[str] = "no interval wholly below 95 %"
    bound: ClassVar[float] = 0.95
    at_least: ClassVar[bool] = True

    def cases(self) -> Iterator[tuple[str, int]]:
        """Log-normal trials."""
        for n in (6, 7, 9, 13, 20, 30):
            sample = np.random.default_rng(n).lognormal(0, 0.3, (self.studies, n))
            found = median_intervals(sample.tolist())
            yield f"{n} trials", sum(not one.excludes(1.0) for one in found)


class StoppedCoverage(Rate):
    """Of intervals of runs that a rule stopped."""

    name: ClassVar[str] = "stopped-coverage"
    what: ClassVar[str] = 'intervals of medians that cover them, after "ci <= 2%"'
    goal: ClassVar[str] = "no interval wholly below 95 %"
    bound: ClassVar[float] = 0.95
    at_least: ClassVar[bool] = True

    def cases(self) -> Iterator[tuple[str, int]]:
        """At scatters that stop it early, in the middle and late."""
        plan = Plan((), 1, min_blocks=5, max_blocks=30, rule=StopRule(0.02))
        for scatter in (0.01, 0.02, 0.03):
            rng = np.random.default_rng(int(1000 * scatter))
            yield (
                f"scatter {scatter:.0%}",
                sum(self._covers(rng, plan, scatter) for _ in range(self.studies)),
            )

    @staticmethod
    def _covers(rng: np.random.Generator, plan: Plan, scatter: float) -> bool:
        trials = (1 + scatter * rng.standard_normal(30)).tolist()
        n = 5
        while n < 30:
            known = precision_of({"x": trials[:n]}, 0.02, looks=plan.looks)["x"]
            if known.state is PrecisionState.PRECISE:
                break
            n += 1
        (found,) = median_intervals([trials[:n]], plan.looks)
        return found.low is not None and not found.excludes(1.0)


TIED = ((2, 3), (3, 2), (1, 2, 2))
"""Groups of equals among five VPNs, the best first."""
VPNS = ("none", "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm")
CLAIMS = {
    1: tuple(f"{a} > {b}" for a, b in combinations(VPNS, 2)),
    2: tuple(f"{VPNS[a]} >= {2 ** (b - a)} x {VPNS[b]}" for a, b in combinations(range(4), 2)),
}
"""Claims by how many times each of ``VPNS`` is better than the next one."""
NOISES = ("normal", "log-normal", "skewed", "outliers", "all differ", "blocks follow")
BLOCKS = (5, 7, 12, 20)


def noisy(rng: np.random.Generator, noise: str, many: int, blocks: int) -> Array:
    """Logarithms of equal contestants (``many``, ``blocks``), of the scale of 3 %."""
    found = 0.03 * rng.standard_normal((many, blocks))
    match noise:
        case "log-normal":
            return np.asarray(np.log1p(0.03 * np.expm1(20 * found)))
        case "skewed":
            return 0.03 * rng.exponential(size=(many, blocks))
        case "outliers":
            found += log(3) * (rng.random((many, blocks)) < 0.05)
        case "all differ":
            found *= rng.permutation([0.5, 1, 1, 2, 3][:many])[:, None]
        case "blocks follow":
            found += 0.1 * following(rng, 1, blocks, 0.5)
    return found


class FalseBest(Rate):
    """Of equals that are better than all others, how often one is called best."""

    name: ClassVar[str] = "false-best"
    what: ClassVar[str] = "one of 2, 3 or 5 equal best VPNs of five called best, 5 to 20 blocks"
    goal: ClassVar[str] = "no interval wholly above 5.5 %"
    bound: ClassVar[float] = 0.055

    def cases(self) -> Iterator[tuple[str, int]]:
        """The others are worse by a third."""
        for noise in NOISES:
            for equal in (2, 3, 5):
                for blocks in BLOCKS:
                    hits = badges(noise, 5, equal, blocks, self.studies)
                    yield f"{noise}, {equal} of 5, {blocks} blocks", hits


class FalseBestNoisiest(FalseBest):
    """The worst case: the two that are equal and best scatter more than the others."""

    name: ClassVar[str] = "false-best-noisiest"
    what: ClassVar[str] = (
        "the same, the two best of five scatter 2 or 3 times as much as the others"
    )
    goal: ClassVar[str] = "5 and 7 blocks 10 %, 12 and 20 blocks 6.5 %: no interval wholly above"
    bound: ClassVar[float] = 0.0

    def cases(self) -> Iterator[tuple[str, int]]:
        """Few blocks do not show that they scatter more."""
        for times in (2, 3):
            for blocks in BLOCKS:
                yield f"{times} times, {blocks} blocks", noisiest(times, blocks, self.studies)

    def met(self, samples: Samples) -> bool:
        """Each number of blocks has its bound."""
        bounds = (0.1, 0.1, 0.065, 0.065) * 2
        return all(one["low"] <= bound for one, bound in zip(samples.details, bounds, strict=True))


class FalseBestStopped(FalseBest):
    """The same where each block may be the last."""

    name: ClassVar[str] = "false-best-stopped"
    what: ClassVar[str] = "one of 2, 3 or 4 equal VPNs called best at any look of 6 to 11 blocks"
    goal: ClassVar[str] = "no interval wholly above 5.5 %"

    def cases(self) -> Iterator[tuple[str, int]]:
        """VPNs beside a baseline that differs, as in ``quick``."""
        looks = Looks(first=6, last=11).reaching()
        for many in (2, 3, 4):
            rng = np.random.default_rng(many)
            hits = 0
            for _ in range(self.studies):
                figures = np.exp(noisy(rng, "blocks follow", 1 + many, 11))
                figures[many] *= 2  # the baseline, which does not compete
                hits += any(
                    decided(figures[:, :n], looks, beside=NAMES[many]).best
                    for n in range(looks.first, 12)
                )
            yield f"{many} VPNs", hits


class FalseDifferences(Rate):
    """Of equals, some found to differ, alone and beside one that does."""

    name: ClassVar[str] = "false-differences"
    what: ClassVar[str] = "of equal VPNs two called different, six kinds of noise, 5 to 20 blocks"
    goal: ClassVar[str] = "no interval wholly above 5.5 %"
    bound: ClassVar[float] = 0.055

    def cases(self) -> Iterator[tuple[str, int]]:
        """Three and five VPNs; the last one the better by half, or equal."""
        for noise in NOISES:
            for many in (3, 5):
                for blocks in BLOCKS:
                    rng = np.random.default_rng(blocks)
                    for factor, which in ((1.0, "all equal"), (1.5, "all but one equal")):
                        equal = NAMES[: many if factor == 1 else many - 1]
                        hits = 0
                        for _ in range(self.studies):
                            figures = np.exp(noisy(rng, noise, many, blocks))
                            figures[-1] *= factor
                            pairs = decided(figures).pairs
                            hits += any(
                                pair.apart for names, pair in pairs.items() if {*names} <= {*equal}
                            )
                        yield f"{noise}, {many} VPNs, {blocks} blocks, {which}", hits


class FalseDifferencesTied(Rate):
    """Of groups of equals, some found to differ, a false best one included."""

    name: ClassVar[str] = "false-differences-tied"
    what: ClassVar[str] = "the same with two or three equal best VPNs, and equals that are worse"
    goal: ClassVar[str] = "no interval wholly above 5.5 %"
    bound: ClassVar[float] = 0.055

    def cases(self) -> Iterator[tuple[str, int]]:
        """The error of the best and that of all other pairs do not add up."""
        for noise in NOISES:
            for groups in TIED:
                for blocks in BLOCKS:
                    shape = " and ".join(map(str, groups))
                    hits = falsehoods(noise, groups, blocks, self.studies)
                    yield f"{noise}, {shape} equal, {blocks} blocks", hits


class FalseClaims(Rate):
    """Claims of a study that are true at their bound: a verdict on any is a false one."""

    name: ClassVar[str] = "false-claims"
    what: ClassVar[str] = "a claim of equal VPNs, or at its bound, with a verdict; six a study"
    goal: ClassVar[str] = "no interval wholly above 5.5 %"
    bound: ClassVar[float] = 0.055

    def cases(self) -> Iterator[tuple[str, int]]:
        """Which one is above, which a column answers, and by how much, which it does not."""
        for times in CLAIMS:
            for noise in NOISES:
                for blocks in (5, 12):
                    hits = verdicts(times, noise, blocks, self.studies)
                    yield f"{noise}, each {times} times the next, {blocks} blocks", hits


class BestPower(Rate):
    """How often the best of five is found."""

    name: ClassVar[str] = "best-power"
    what: ClassVar[str] = "one of five VPNs better by 5 % at a scatter of 3 %, called best"
    goal: ClassVar[str] = "7 blocks 60 %, 12 blocks 90 %: no interval wholly below"
    bound: ClassVar[float] = 0.0
    at_least: ClassVar[bool] = True
    wanted: ClassVar[dict[int, float]] = {7: 0.6, 12: 0.9}

    def cases(self) -> Iterator[tuple[str, int]]:
        """The others are equal."""
        for blocks in self.wanted:
            yield f"{blocks} blocks", found_best(5, blocks, 1.05, self.studies)

    def met(self, samples: Samples) -> bool:
        """Each case has its bound."""
        bounds = self.wanted.values()
        return all(one["high"] >= bound for one, bound in zip(samples.details, bounds, strict=True))


class LargeEffectPower(Rate):
    """A large difference in the fewest blocks."""

    name: ClassVar[str] = "large-effect-power"
    what: ClassVar[str] = "one of five VPNs better by half, called best in 5 blocks"
    goal: ClassVar[str] = "no interval wholly below 90 %"
    bound: ClassVar[float] = 0.9
    at_least: ClassVar[bool] = True

    def cases(self) -> Iterator[tuple[str, int]]:
        """At a scatter of 3 %, and with one trial of twenty three times as great."""
        for noise in ("normal", "outliers"):
            yield noise, found_best(5, 5, 1.5, self.studies, noise)


class PairedPower(Rate):
    """A 5 % effect at a scatter of 3 %."""

    name: ClassVar[str] = "paired-power"
    what: ClassVar[str] = "5 % at a scatter of 3 % found, looking after each of 5 to 20 blocks"
    goal: ClassVar[str] = "no interval wholly below 95 %"
    bound: ClassVar[float] = 0.95
    at_least: ClassVar[bool] = True

    def cases(self) -> Iterator[tuple[str, int]]:
        """By the contrast of claims at its sequential levels."""
        rng = np.random.default_rng(1)
        hits = sum(_decided(0.03 * _differences(rng, 20) + log(1.05)) for _ in range(self.studies))
        yield "20 blocks at most", hits


class DriftAlarms(Rate):
    """False alarms of the same test while the machine drifts."""

    name: ClassVar[str] = "drift-alarms"
    studies: ClassVar[int] = 4000
    what: ClassVar[str] = "equals called different while the machine drifts (0.99 trial to trial)"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05

    def cases(self) -> Iterator[tuple[str, int]]:
        """Four cells a block in random order."""
        rng = np.random.default_rng(2)
        hits = 0
        for _ in range(self.studies):
            drift = following(rng, 1, 80, 0.99)[0].reshape(20, 4)
            placed = rng.permuted(drift, axis=1)
            hits += _decided(placed[:, 0] - placed[:, 1] + 0.1 * _differences(rng, 20))
        yield "20 blocks at most", hits


class ToleranceAlarms(Rate):
    """Differences below a margin that are called beyond it."""

    name: ClassVar[str] = "tolerance-alarms"
    what: ClassVar[str] = "2.9 % called slower by more than 3 %, 4 % outside a margin of 5 %"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05

    def cases(self) -> Iterator[tuple[str, int]]:
        """20 trials a side that scatter by 2 %."""
        rng = np.random.default_rng(3)
        for share, true in ((0.03, 0.029), (0.05, 0.04)):
            hits = 0
            for _ in range(self.studies):
                before, after = 0.02 * rng.standard_normal((2, 20))
                found = unpaired_contrast(before, after + log(1 - true))
                hits += found is not None and found.p_outside(*_ends(share)) <= ALPHA
            yield f"{true:.1%} within {share:.0%}", hits


class RunAlarms(Rate):
    """Runs that deviate, several a side."""

    name: ClassVar[str] = "run-alarms"
    what: ClassVar[str] = "equal sides called different, runs deviate by 2 %, 2 to 5 runs a side"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05

    def cases(self) -> Iterator[tuple[str, int]]:
        """Ten trials a run that scatter by 2 % more."""
        for runs in (2, 3, 5):
            rng = np.random.default_rng(runs)
            hits = 0
            for _ in range(self.studies):
                means = 0.02 * rng.standard_normal((2 * runs, 1))
                trials = list(means + 0.02 * rng.standard_normal((2 * runs, 10)))
                hits += _alarm(run_contrast(trials[:runs], trials[runs:]))
            yield f"{runs} runs a side", hits


STATEMENTS: tuple[type[Goal], ...] = (
    MedianCoverage,
    StoppedCoverage,
    FalseBest,
    FalseBestNoisiest,
    FalseBestStopped,
    FalseDifferences,
    FalseDifferencesTied,
    FalseClaims,
    BestPower,
    LargeEffectPower,
    PairedPower,
    DriftAlarms,
    ToleranceAlarms,
    RunAlarms,
)


def badges(noise: str, many: int, equal: int, blocks: int, studies: int) -> int:
    """Of so many studies of VPNs, the best of them equal, those in which one is called best."""
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(studies):
        figures = noisy(rng, noise, many, blocks)
        figures[:equal] += 0.4
        hits += decided(np.exp(figures)).best is not None
    return hits


def noisiest(times: float, blocks: int, studies: int) -> int:
    """Studies in which one of two equal best of five is called best, the two scattering more."""
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(studies):
        figures = noisy(rng, "normal", 5, blocks)
        figures[:2] *= times
        figures[:2] += 0.4
        hits += decided(np.exp(figures)).best is not None
    return hits


def falsehoods(noise: str, groups: tuple[int, ...], blocks: int, studies: int) -> int:
    """Studies with a difference between equals.

    ``groups``: how many VPNs are equal; the first group is the best, each other one is worse by a
    third than the one before.
    """
    rng = np.random.default_rng(blocks)
    group = np.repeat(np.arange(len(groups)), groups)
    place = dict(zip(NAMES, group.tolist(), strict=False))
    hits = 0
    for _ in range(studies):
        figures = noisy(rng, noise, group.size, blocks) - 0.4 * group[:, None]
        pairs = decided(np.exp(figures)).pairs.items()
        hits += any(pair.apart for (a, b), pair in pairs if place[a] == place[b])
    return hits


def verdicts(times: int, noise: str, blocks: int, studies: int) -> int:
    """Studies with a verdict on one of ``CLAIMS``, of VPNs that are exactly as claimed."""
    tests = "".join(
        f'[[claim]]\nid = "c{number}"\ntext = "claim"\ntest = "tcp.goodput_bps: {claim}"\n'
        for number, claim in enumerate(CLAIMS[times])
    )
    head = f'name = "claims"\nvpns = {list(VPNS)}\n[[measurement]]\nkind = "tcp"\n'
    study = Study.parse(head + tests, installed_catalogue())
    ((requested,),) = study.requested.values()
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(studies):
        figures = np.exp(noisy(rng, noise, len(VPNS), blocks))
        figures *= 1e8 / float(times) ** np.arange(len(VPNS))[:, None]
        rows = [
            {
                "vpn": vpn,
                "block": block,
                "trial": block,
                "condition": "clean",
                "measurement": "tcp",
                "parameters": requested.parameters,
                "status": "ok",
                "reason": "",
                "metric": "goodput_bps",
                "labels": "{}",
                "unit": "bit/s",
                "value": value,
            }
            for vpn, series in zip(VPNS, figures.tolist(), strict=True)
            for block, value in enumerate(series)
        ]
        found = judge(study, pl.DataFrame(rows, schema=ROWS_SCHEMA))
        hits += any(one.verdict in (Verdict.SUPPORTED, Verdict.CONTRADICTED) for one in found)
    return hits


def found_best(many: int, blocks: int, effect: float, studies: int, noise: str = "normal") -> int:
    """Studies in which a VPN ``effect`` times as good as all others is called best."""
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(studies):
        figures = np.exp(noisy(rng, noise, many, blocks))
        figures[0] *= effect
        hits += decided(figures).best == NAMES[0]
    return hits


def decided(figures: Array, looks: Looks = ONCE, beside: str = "") -> Decision:
    """The decision on ``figures`` (contestants, blocks)."""
    series = {
        name: dict(enumerate(values.tolist())) for name, values in zip(NAMES, figures, strict=False)
    }
    return decide(series, looks=looks, better=Better.MORE, beside=beside)


def _differences(rng: np.random.Generator, blocks: int) -> Array:
    one, other = rng.standard_normal((2, blocks))
    return np.asarray(one - other)


def _decided(differences: Array) -> bool:
    """Whether any look from 5 blocks on calls the two different."""
    last = len(differences)
    for n, level in enumerate(levels(5, last, ALPHA), start=5):
        contrast = paired_contrast(differences[:n])
        if contrast is not None and contrast.p_two_sided() <= level:
            return True
    return False


def _alarm(contrast: Contrast | None) -> bool:
    return contrast is not None and contrast.p_two_sided() <= ALPHA


def _ends(share: float) -> tuple[float, float]:
    return log(1 - share), log(1 + share)
