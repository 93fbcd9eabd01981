"""The search with a bench that measures nothing: what it skips, resumes and says."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from culvert.errors import CulvertError
from culvert.versions.builds import BuildError
from culvert.versions.rounds import Pair
from culvert.versions.search import Found, Search

COMMITS = [f"c{number}" for number in range(1, 17)]


@dataclass
class Simulated:
    """``changed`` and the commits after it have the change."""

    changed: str
    change: float = math.log(0.9)
    broken: Collection[str] = ()
    failing: Collection[str] = ()
    before: Sequence[tuple[str, Pair]] = ()
    measured: list[tuple[str, Pair]] = field(default_factory=list)
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def difference(self, commit: str) -> Pair:
        if commit in self.broken:
            raise BuildError(f"commit {commit}", "it does not build", "see the log")
        if commit in self.failing:
            self.measured.append((commit, (math.nan, None)))
            raise CulvertError("round", "the VPN did not come up", "see its log")
        value = 0.02 * float(self.noise.standard_normal())
        if COMMITS.index(commit) >= COMMITS.index(self.changed):
            value += self.change
        self.measured.append((commit, (value, None)))
        return value, None


def found(bench: Simulated, *, most: int = 200) -> tuple[Found, list[str]]:
    said: list[str] = []
    search = Search(
        COMMITS, bench.before, bench.difference, math.log(0.95), 0.05, most, said.append
    )
    return search.run(), said


def test_the_commit_is_named() -> None:
    bench = Simulated("c11")
    result, said = found(bench)
    assert (result.commits, result.named, result.skipped) == (("c11",), True, ())
    assert result.probability >= 0.97
    assert result.ratio == pytest.approx(0.9, abs=0.03)
    assert result.blocks == len(bench.measured) < 20
    assert said[0].startswith("block 1: c16 -")


def test_what_does_not_build_or_run_is_skipped() -> None:
    bench = Simulated("c8", broken={"c7", "c8"}, failing={"c12"})
    result, said = found(bench)
    assert result.commits == ("c7", "c8", "c9")
    assert result.named
    assert set(result.skipped) <= {"c7", "c8", "c12"}
    assert "c8 is skipped: commit c8: it does not build" in said


def test_a_commit_that_cannot_be_measured_is_tried_three_times() -> None:
    bench = Simulated("c3", failing={"c8"})
    result, said = found(bench)
    assert result.named
    assert [commit for commit, _ in bench.measured].count("c8") == 3
    assert said.count("c8 is tried again: round: the VPN did not come up") == 2
    assert "c8 is skipped: round: the VPN did not come up" in said


def test_an_interrupted_search_goes_on() -> None:
    first = Simulated("c11")
    whole, _ = found(first)
    half = first.measured[: whole.blocks // 2]
    second = Simulated("c11", before=[*half, ("of another history", (1.0, None))])
    result, _ = found(second)
    assert result.commits == ("c11",)
    assert result.blocks == len(half) + len(second.measured)


def test_earlier_rounds_of_other_commits_do_not_stand_for_the_bad_one() -> None:
    bench = Simulated("c3", before=[("c5", (-0.1, None))] * 30)
    with pytest.raises(CulvertError, match=r"in 1 block$"):
        found(bench, most=20)
    assert [commit for commit, _ in bench.measured] == ["c16"]


def test_without_the_change_nothing_is_searched() -> None:
    bench = Simulated("c16", change=0.0)
    with pytest.raises(CulvertError, match="does not have the claimed change"):
        found(bench)
    assert {commit for commit, _ in bench.measured} == {"c16"}
    with pytest.raises(BuildError):
        found(Simulated("c16", broken={"c16"}))


def test_the_trials_may_be_used_up_before_the_change_is_shown() -> None:
    bench = Simulated("c11", change=math.log(0.99))
    with pytest.raises(CulvertError, match="it is not shown to have the claimed change") as error:
        found(bench, most=5)
    assert "--max-trials" in error.value.remedy
    assert [commit for commit, _ in bench.measured] == ["c16"] * 5


def test_what_is_left_when_the_trials_are_used_up() -> None:
    result, _ = found(Simulated("c11"), most=6)
    assert not result.named
    assert "c11" in result.commits
    assert 1 < len(result.commits) < 16
    assert result.probability >= 0.97
