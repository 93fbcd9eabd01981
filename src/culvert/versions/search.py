"""The search for the commit that changed a figure: which commit is measured next, and when it ends.

``culvert.statistics.bisection`` decides.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from culvert.errors import CulvertError
from culvert.statistics.adjusted import adjusted_mean
from culvert.statistics.bisection import (
    Difference,
    Ends,
    credible,
    ends,
    next_commit,
    posterior,
    series,
    suspects,
)
from culvert.units import plural
from culvert.versions.builds import BuildError
from culvert.versions.rounds import Pair

ENDS_SHARE = 0.4
"""Of the error rate, for the test of the bad commit; the rest is for the name."""
_TRIES = 3
"""Times that a commit may fail to be measured before it is skipped."""


@dataclass(frozen=True)
class Found:
    """``commits`` have the change with this probability; a single one, or several that cannot be
    told apart because all but the last cannot be measured (``named``), or because the search has
    ended before."""

    commits: tuple[str, ...]
    probability: float
    named: bool
    ratio: float
    """The figure from the change on, over the one before it."""
    blocks: int
    skipped: tuple[str, ...]


@dataclass
class Search:
    """Among ``commits``, the oldest first and the bad one last. ``change`` is as in the claim;
    ``error`` is the probability of a wrong answer; ``most`` limits the blocks.

    ``earlier``: commits that an interrupted search has measured, with their differences.
    ``difference`` measures a block of a commit: the logarithm of its figure over the good one's,
    and that of the covariate. It raises BuildError if the commit does not build, CulvertError if a
    trial does not count.
    """

    commits: Sequence[str]
    earlier: Sequence[tuple[str, Pair]]
    difference: Callable[[str], Pair]
    change: float
    error: float
    most: int
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        places = {commit: place for place, commit in enumerate(self.commits, 1)}
        self._seen = [
            Difference(places[commit], *pair) for commit, pair in self.earlier if commit in places
        ]
        self._skipped: set[int] = set()
        self._failures: Counter[int] = Counter()

    def run(self) -> Found:
        """Measure until one commit is named, or ``most`` blocks are. Raises CulvertError if the bad
        commit cannot be measured, or is not shown to have the change."""
        self._ends()
        while True:
            chances = posterior(len(self.commits), self._seen)
            groups = suspects(chances, self._skipped)
            best = self.commits[groups[0].commits[-1] - 1]
            self.say(f"most suspect: {best[:12]}, {100 * groups[0].probability:.0f} %")
            named = groups[0].probability >= self._level
            commit = next_commit(chances, self._skipped)
            if named or commit is None or len(self._seen) >= self.most:
                break
            self._measure(commit)
        places = groups[0].commits if named else credible(groups, self._level)
        return Found(
            tuple(self.commits[one - 1] for one in places),
            sum(float(chances[one - 1]) for one in places),
            named,
            self._ratio(places[-1]),
            len(self._seen),
            tuple(self.commits[one - 1] for one in sorted(self._skipped)),
        )

    @property
    def _level(self) -> float:
        return 1 - self.error * (1 - ENDS_SHARE)

    def _ends(self) -> None:
        bad = len(self.commits)
        while True:
            seen = [one for one in self._seen if one.commit == bad]
            found = ends(seen, self.change, self.error * ENDS_SHARE)
            if found is Ends.SHOWN:
                return
            if found is Ends.OPEN and (len(self._seen) < self.most or not seen):
                self._measure(bad)
                continue
            change = f"{100 * (self._ratio(bad) - 1):+.1f} %"
            verdict, remedy = (
                "it does not have",
                "correct the claim, or the good and the bad commit",
            )
            if found is Ends.OPEN:
                verdict, remedy = "it is not shown to have", "allow more blocks with --max-trials"
            raise CulvertError(
                f"commit {self.commits[-1][:12]}",
                f"{verdict} the claimed change: {change} in {plural(len(seen), 'block')}",
                remedy,
            )

    def _measure(self, place: int) -> None:
        commit = self.commits[place - 1]
        try:
            value, beside = self.difference(commit)
        except CulvertError as error:
            self._failures[place] += 1
            last = isinstance(error, BuildError) or self._failures[place] >= _TRIES
            if last and place == len(self.commits):
                raise
            self.say(f"{commit[:12]} {'is skipped' if last else 'is tried again'}: {error}")
            if last:
                self._skipped.add(place)
            return
        self._seen.append(Difference(place, value, beside))
        self.say(f"block {len(self._seen)}: {commit[:12]} {100 * (math.exp(value) - 1):+.1f} %")

    def _ratio(self, place: int) -> float:
        mean, *_ = adjusted_mean(*series([one for one in self._seen if one.commit >= place]))
        return math.exp(mean)
