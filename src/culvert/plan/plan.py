"""The plan of a study: cells in random blocks.

A block is one pass over all cells, including the baseline, so that drift of the machine affects all
of them equally. The order within a block depends only on the seed and the block's number: a resumed
or extended run keeps the same order.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import count
from typing import Literal

from culvert.plan.precision import MIN_BLOCKS, looks_of
from culvert.results import Parameters
from culvert.statistics.looks import Looks
from culvert.study.blocks import MOST_BLOCKS, BlocksTable, StopRule
from culvert.study.study import Study
from culvert.study.vpn_id import BASELINE


@dataclass(frozen=True)
class Cell:
    """Equal cells compare equal: parameters are canonical."""

    vpn: str
    condition: str
    measurement: str
    parameters: Parameters

    @cached_property
    def key(self) -> str:
        """Twelve hex digits that identify the cell in every run, independent of order."""
        content = json.dumps([self.vpn, self.condition, self.measurement, self.parameters])
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def context(self) -> tuple[str, str, Parameters]:
        """Condition, measurement and parameters: cells of one context are compared."""
        return self.condition, self.measurement, self.parameters

    def __str__(self) -> str:
        return f"{self.vpn} {self.condition} {self.measurement} {self.parameters}"


PROFILED = -MOST_BLOCKS - 1
"""The block of trials that are profiled: below every warm-up block, and as little counted."""

Done = Collection[tuple[int, str]]
"""Block and cell key of every trial in the journal."""


@dataclass(frozen=True)
class Trial:
    """One planned execution of a cell. Positions in a block count from 1."""

    block: int
    position: int
    cell: Cell


@dataclass(frozen=True)
class TimeEstimate:
    """The duration of a run: one block, at least, and at most. Seconds."""

    block_s: float
    min_s: float
    max_s: float


@dataclass(frozen=True)
class Plan:
    """Blocks count from 1; warm-up blocks come before them: 0, -1, ..., the lowest first.

    ``max_blocks`` None means that only ``budget_s`` ends the run. ``absent`` cells need
    something that is missing in this Culvert, or here: only the first block has them, to report
    them.
    ``grouped``: in a block the cells of one VPN and condition follow each other, for labs that are
    kept from trial to trial.
    """

    cells: tuple[Cell, ...]
    seed: int
    order: Literal["random", "listed"] = "random"
    min_blocks: int = 1
    max_blocks: int | None = 1
    rule: StopRule | None = None
    stop: Literal["together", "each"] = "together"
    budget_s: float | None = None
    pause_s: float = 0.0
    warmup_blocks: int = 0
    absent: frozenset[Cell] = frozenset()
    grouped: bool = False

    @classmethod
    def of(cls, study: Study) -> Plan:
        plan, blocks = study.file.plan, study.file.plan.blocks
        base = cls(
            cells=cells_of(study),
            seed=plan.seed,
            order=plan.order,
            pause_s=plan.pause_s,
            warmup_blocks=plan.warmup,
            absent=frozenset(
                cell
                for cell in cells_of(study)
                if study.lacking.reason(cell.vpn, cell.condition, cell.measurement)
            ),
        )
        if not isinstance(blocks, BlocksTable):
            return replace(base, min_blocks=blocks, max_blocks=blocks)
        rule = None if blocks.until is None else StopRule.parse(blocks.until)
        least = blocks.min or (MIN_BLOCKS if rule else 1)
        if blocks.max is not None:
            least = min(least, blocks.max)
        return replace(
            base,
            min_blocks=least,
            max_blocks=blocks.max,
            rule=rule,
            stop=blocks.stop,
            budget_s=blocks.budget_s,
        )

    def only(self, *patterns: str) -> Plan:
        """The plan of the matching cells, with the baselines that they are compared with.

        Each pattern (``*`` and ``?`` as in a shell) is compared with the VPN, the condition and
        the measurement of each cell; one that matches is enough. Raises nothing: a plan
        without cells has no trials.
        """
        matching = {cell for cell in self.cells if _matches(cell, patterns)}
        compared = {cell.context for cell in matching}
        kept = tuple(
            cell
            for cell in self.cells
            if cell in matching or (cell.vpn == BASELINE and cell.context in compared)
        )
        return replace(self, cells=kept)

    def refusing(self, refused: Collection[str]) -> Plan:
        """The plan without the cells of these keys but for their report."""
        found = {cell for cell in self.cells if cell.key in refused}
        return replace(self, absent=self.absent | found)

    def block(self, number: int) -> tuple[Cell, ...]:
        """All cells in the order of that block."""
        if self.order == "listed":
            return self.cells
        # random.Random's shuffle is the same on every platform; a str seed goes through SHA-512,
        # so that neighbouring blocks and seeds are independent.
        order = list(self.cells)
        random.Random(f"{self.seed}/{number}").shuffle(order)  # noqa: S311 - not a secret
        if self.grouped:
            groups = [(cell.vpn, cell.condition) for cell in order]
            order.sort(key=lambda cell: groups.index((cell.vpn, cell.condition)))
        return tuple(order)

    def block_numbers(self) -> Iterator[int]:
        """Numbers of the blocks, warm-up first; endless if only a budget ends the run."""
        for number in count(1 - self.warmup_blocks):
            if self.max_blocks is not None and number > self.max_blocks:
                return
            yield number

    def missing(self, number: int, done: Done) -> Iterator[Trial]:
        """The trials of one block that are not in ``done``, in their places."""
        for position, cell in enumerate(self.block(number), start=1):
            if (number, cell.key) not in done and (number == 1 or cell not in self.absent):
                yield Trial(number, position, cell)

    @property
    def looks(self) -> Looks:
        """The looks of the rule at the cells, from the first that can end the run."""
        return looks_of(self.rule is not None, self.min_blocks, self.max_blocks)

    @property
    def present(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self.cells if cell not in self.absent)

    @property
    def most_blocks(self) -> int | None:
        """Blocks of the whole run at most, warm-up included; None if only the time ends it."""
        return None if self.max_blocks is None else self.max_blocks + self.warmup_blocks

    def estimate(
        self, trial_s: Callable[[Cell], float], before: Collection[Cell] = ()
    ) -> TimeEstimate:
        """The duration of the run; ``trial_s`` returns the seconds of a trial with its overhead.

        ``before`` are additional cells that each block measures first.
        """
        block_s = sum(trial_s(cell) + self.pause_s for cell in self.present)
        block_s += sum(map(trial_s, before))
        budget_s = float("inf") if self.budget_s is None else self.budget_s
        most = float("inf") if self.most_blocks is None else self.most_blocks
        # If no block has a cell, blocks take no time.
        max_s = min(most * block_s, budget_s) if block_s else 0.0
        min_s = (self.min_blocks + self.warmup_blocks) * block_s
        return TimeEstimate(block_s, min(min_s, max_s), max_s)


def cells_of(study: Study) -> tuple[Cell, ...]:
    """All cells of a study, in the order of the file."""
    return tuple(
        Cell(vpn, condition, one.kind, one.parameters)
        for condition, measurements in study.requested.items()
        for one in measurements
        for vpn in study.vpns
        if not study.excludes(vpn, condition, one)
    )


def _matches(cell: Cell, patterns: Sequence[str]) -> bool:
    words: Sequence[str] = (cell.vpn, cell.condition, cell.measurement)
    return any(fnmatchcase(word, pattern) for word in words for pattern in patterns)
