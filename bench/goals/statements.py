"""Error rates and power of what Culvert states, of at least 2,000 simulated studies each.

Each goal lists the rate of every case with its Monte Carlo interval (Wilson) in results.json; the
line shows the worst. The intervals of a goal hold together in 95 %: it is met where none lies
beyond the bound.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from math import log, sqrt
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from bench.goal import Goal, Samples
from culvert.analysis.column import Column, column
from culvert.analysis.compare.contrast import (
    Contrast,
    paired_contrast,
    run_contrast,
    unpaired_contrast,
)
from culvert.analysis.design import Design
from culvert.plan.plan import Plan
from culvert.plan.precision import PrecisionState, precision_of
from culvert.statistics.intervals import median_intervals
from culvert.statistics.looks import Looks, levels
from culvert.statistics.ranks import leads
from culvert.statistics.values import Array
from culvert.study.blocks import StopRule

STUDIES = 2000
ALPHA = 0.05
NAMES = ("a", "b", "c", "d", "e")


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


class FalseBest(Rate):
    """Of equals, how often one is called best or joint best: the badges of the report."""

    name: ClassVar[str] = "false-best"
    what: ClassVar[str] = "of 2 or 5 equal VPNs one called best or joint best, 5 to 20 blocks"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05
    rho: ClassVar[float] = 0.0

    def cases(self) -> Iterator[tuple[str, int]]:
        """Each VPN's trials follow one another by ``rho``."""
        for many in (2, 5):
            for blocks in (5, 7, 8, 10, 14, 20):
                yield f"{many} VPNs, {blocks} blocks", badges(many, blocks, self.rho, self.studies)


class FalseBestCorrelated(FalseBest):
    """The same with correlated trials."""

    name: ClassVar[str] = "false-best-correlated"
    what: ClassVar[str] = "the same with the lag-1 correlation 0.5"
    goal: ClassVar[str] = "no interval wholly above 8 %"
    bound: ClassVar[float] = 0.08
    rho: ClassVar[float] = 0.5


class FalseBestStopped(FalseBest):
    """The same where each block may be the last."""

    name: ClassVar[str] = "false-best-stopped"
    what: ClassVar[str] = "the same, and the run ends as soon as one is called so"
    goal: ClassVar[str] = "no interval wholly above 8 %"
    bound: ClassVar[float] = 0.08
    rho: ClassVar[float] = 0.5

    def cases(self) -> Iterator[tuple[str, int]]:
        """VPNs beside a baseline that differs; 6 to 11 blocks, as in ``quick``."""
        looks = Looks(first=6, last=11).reaching()
        for many in (2, 3, 4):
            rng = np.random.default_rng(many)
            hits = 0
            for _ in range(self.studies):
                figures = np.exp(0.02 * following(rng, 1 + many, 11, self.rho))
                figures[many] *= 2  # the baseline, which has no badge
                hits += any(
                    has_badges(figures[:, :n], many, Design(looks=looks))
                    for n in range(looks.first, 12)
                )
            yield f"{many} VPNs", hits


NOISES = ("normal", "skewed", "outliers", "one scatters", "all differ")


def noisy(rng: np.random.Generator, noise: str, many: int, blocks: int) -> Array:
    """Logarithms of equal contestants (``many``, ``blocks``), of the scale of 3 %."""
    if noise.startswith("lag-1 "):
        return 0.03 * following(rng, many, blocks, float(noise.removeprefix("lag-1 ")))
    found = 0.03 * rng.standard_normal((many, blocks))
    if noise == "skewed":
        return 0.03 * rng.exponential(size=(many, blocks))
    if noise == "outliers":
        found += log(3) * (rng.random((many, blocks)) < 0.05)
    elif noise == "one scatters":
        found[0] *= 3
    elif noise == "all differ":
        found *= np.array([0.5, 1, 1, 2, 3])[:many, None]
    return np.asarray(found)


class FalseDifferences(Rate):
    """Of equals, some found to differ, alone and beside one that does."""

    name: ClassVar[str] = "false-differences"
    what: ClassVar[str] = "of equal VPNs two called different, five kinds of noise, 5 to 20 blocks"
    goal: ClassVar[str] = "no interval wholly above 5 %"
    bound: ClassVar[float] = 0.05
    noises: ClassVar[tuple[str, ...]] = NOISES

    def cases(self) -> Iterator[tuple[str, int]]:
        """Three and five VPNs; the last one the better by half, or equal."""
        for noise in self.noises:
            for many in (3, 5):
                for blocks in (5, 7, 12, 20):
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


class FalseDifferencesCorrelated(FalseDifferences):
    """The same with correlated trials."""

    name: ClassVar[str] = "false-differences-correlated"
    what: ClassVar[str] = "the same with the lag-1 correlations 0.3 and 0.5"
    goal: ClassVar[str] = "no interval wholly above 8 %"
    bound: ClassVar[float] = 0.08
    noises: ClassVar[tuple[str, ...]] = ("lag-1 0.3", "lag-1 0.5")


class ColumnPower(Rate):
    """What a column of five finds."""

    name: ClassVar[str] = "column-power"
    what: ClassVar[str] = "one of five VPNs better by 5 % at a scatter of 3 %, found in 12 blocks"
    goal: ClassVar[str] = "no interval wholly below 75 %"
    bound: ClassVar[float] = 0.75
    at_least: ClassVar[bool] = True
    effect: ClassVar[float] = 1.05
    blocks: ClassVar[int] = 12

    def cases(self) -> Iterator[tuple[str, int]]:
        """Against an ordinary one of the four others."""
        yield f"{self.blocks} blocks", differing(5, self.blocks, self.effect, self.studies)


class FewBlocksPower(ColumnPower):
    """The same in the blocks of a short run."""

    name: ClassVar[str] = "few-blocks-power"
    what: ClassVar[str] = "one of five VPNs better by 5 % at a scatter of 3 %, found in 7 blocks"
    goal: ClassVar[str] = "no interval wholly below 35 %"
    bound: ClassVar[float] = 0.35
    blocks: ClassVar[int] = 7


class LargeEffectPower(ColumnPower):
    """The same for a large difference in the fewest blocks."""

    name: ClassVar[str] = "large-effect-power"
    what: ClassVar[str] = "one of five VPNs better by half at a scatter of 3 %, found in 5 blocks"
    goal: ClassVar[str] = "no interval wholly below 95 %"
    bound: ClassVar[float] = 0.95
    effect: ClassVar[float] = 1.5
    blocks: ClassVar[int] = 5


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
    FalseBestCorrelated,
    FalseBestStopped,
    FalseDifferences,
    FalseDifferencesCorrelated,
    ColumnPower,
    FewBlocksPower,
    LargeEffectPower,
    PairedPower,
    DriftAlarms,
    ToleranceAlarms,
    RunAlarms,
)


def badges(many: int, blocks: int, rho: float, studies: int) -> int:
    """Of so many studies of equal VPNs, those in which one is called best or joint best."""
    rng = np.random.default_rng(blocks)
    return sum(
        has_badges(np.exp(0.02 * following(rng, many, blocks, rho)), many) for _ in range(studies)
    )


def differing(many: int, blocks: int, effect: float, studies: int) -> int:
    """Studies in which a VPN ``effect`` times as good differs from the next; scatter 3 %."""
    rng = np.random.default_rng(blocks)
    hits = 0
    for _ in range(studies):
        figures = np.exp(noisy(rng, "normal", many, blocks))
        figures[0] *= effect
        hits += decided(figures).apart(*NAMES[:2])
    return hits


def has_badges(figures: Array, many: int, design: Design | None = None) -> bool:
    """Whether any of the first ``many`` of ``figures`` (contestants, blocks) has a badge."""
    ranks = decided(figures, design).ranks(NAMES[:many], more_is_better=True)
    return bool(leads(ranks))


def decided(figures: Array, design: Design | None = None) -> Column:
    """The column of ``figures`` (contestants, blocks)."""
    series = {
        name: dict(enumerate(values.tolist())) for name, values in zip(NAMES, figures, strict=False)
    }
    return column(series, design or Design())


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
