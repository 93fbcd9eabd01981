"""Rounds of a search: each is a run of one block, the good commit and another one."""

from __future__ import annotations

import io
import math
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from culvert.analysis.observations import observations
from culvert.api.opening import measure
from culvert.api.run import Run
from culvert.compare.gate import figures_of
from culvert.errors import CulvertError, UsageError
from culvert.journal.journal import Journal
from culvert.plan.plan import Plan
from culvert.study.builds import BuildTable, split_build
from culvert.study.study import Study
from culvert.versions import composed
from culvert.versions.builds import Builder
from culvert.versions.claim import Claim
from culvert.versions.composed import Composed
from culvert.versions.repository import SHORT
from culvert.vpns.registry import installed_catalogue

Pair = tuple[float, float | None]
"""The difference of a round, and that of its covariate."""
GOOD, TESTED = "good", "tested"
_ROUND = re.compile(r"(\d{3,})-[0-9a-f]+")


@dataclass(frozen=True)
class Rounds:
    """``good`` is the commit that all others are compared with; ``directory`` has a run for each
    round."""

    builder: Builder
    composed: Composed
    claim: Claim
    good: str
    directory: Path

    def prepare(self, bad: str) -> None:
        """Build the good and the bad commit. Raises BuildError, and UsageError unless the study has
        one cell for the claim."""
        text = self._text({GOOD: composed.UNBUILT, TESTED: composed.UNBUILT}, 1)
        cells = Plan.of(Study.parse(text, installed_catalogue(), source=self.composed.study)).cells
        if len(cells) != 2:
            raise UsageError(
                f"study {self.composed.study}",
                f"it has {len(cells) // 2} cells of {self.claim.measurement}, and a claim is "
                "about one",
                "write a study with that cell alone, and name it with --study",
            )
        for commit in (self.good, bad):
            self.builder.build(commit)

    def earlier(self) -> list[tuple[str, Pair]]:
        """The commits and differences of all rounds, for ``Search``. Raises UsageError."""
        found = []
        for _, directory in self._rounds():
            builds = _builds(directory)
            if builds.get(GOOD) != self.good:
                raise UsageError(
                    str(self.directory),
                    f"it has rounds with another good commit than {self.good[:SHORT]}",
                    "choose another directory with --out",
                )
            value = self._value(Run(directory))
            if value is not None:
                found.append((builds[TESTED], value))
        return found

    def difference(self, commit: str) -> Pair:
        """That of a new round, for ``Search``."""
        number = 1 + max((number for number, _ in self._rounds()), default=0)
        builds = {
            GOOD: self.builder.build(self.good),
            TESTED: self.builder.build(commit),
        }
        place = self.directory / f"{number:03}-{commit[:SHORT]}"
        file = composed.write(self._text(builds, number), place)
        with redirect_stdout(io.StringIO()):  # its words are those of a run; the search has its own
            run = measure(file, place)
        value = self._value(run)
        if value is None:
            failed = run.trials.filter(pl.col("status") != "ok")
            reasons = "; ".join(dict.fromkeys(failed["reason"])) or "it has no such figure"
            raise CulvertError(f"round {number}", reasons, f"see culvert report {place}")
        return value

    def _text(self, builds: dict[str, BuildTable], seed: int) -> str:
        return self.composed.pair(builds, seed, self.claim.measurement)

    def _value(self, run: Run) -> Pair | None:
        """The difference of a round; None if a trial of it does not count."""
        if self.claim.metric is None:
            return _primary(run)
        counted = run.metrics().filter(metric=self.claim.metric, labels="{}")
        values = dict(counted.select("vpn", "value").iter_rows())
        pair = [
            value
            for build in (GOOD, TESTED)
            for vpn, value in values.items()
            if split_build(vpn)[1] == build
        ]
        if len(pair) != 2 or min(pair) <= 0:
            return None
        return math.log(pair[1] / pair[0]), None

    def _rounds(self) -> Iterator[tuple[int, Path]]:
        if self.directory.is_dir():
            for path in sorted(self.directory.iterdir()):
                named = _ROUND.fullmatch(path.name)
                if named and Journal.exists(path):
                    yield int(named[1]), path


def _primary(run: Run) -> Pair | None:
    builds = {split_build(vpn)[1]: vpn for vpn in run.vpns}
    with Journal.open(run.directory) as journal:
        observed = observations(journal.rows())
    figure = next(figures_of(observed, builds[GOOD], builds[TESTED]), None)
    if figure is None:
        return None
    slowdowns, covariate = figure.slowdowns()
    if not slowdowns.size:
        return None
    return float(slowdowns[0]), None if covariate is None else float(covariate[0])


def _builds(directory: Path) -> dict[str, str]:
    """The commits of a round, by the names of its builds."""
    with Journal.open(directory) as journal:
        study = tomllib.loads(journal.run()["toml"])
    return {name: table["commit"] for name, table in study.get("build", {}).items()}
