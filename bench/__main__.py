"""``make bench``: one line a goal, and bench/results.json."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

from bench.attempt import attempt
from bench.goal import Goal
from bench.goals import GOALS
from bench.results import keep, stamp
from culvert.errors import UsageError


def main() -> int:
    """Run the goals; exit code 0 whether they are met or not: a bench reports, it is no gate."""
    parser = argparse.ArgumentParser(prog="make bench ONLY=name", description=__doc__)
    parser.add_argument("--only", metavar="NAME", help="one goal")
    parser.add_argument("--list", action="store_true", help="names and what they are")
    options = parser.parse_args()
    out = Console(highlight=False, soft_wrap=True)
    if options.list:
        widest = max(len(goal.name) for goal in GOALS)
        for goal in GOALS:
            out.print(f"{goal.name:<{widest}}  {goal.what}")
        return 0
    try:
        chosen = _chosen(options.only)
    except UsageError as error:
        out.print(f"error: {error}\nremedy: {error.remedy}", markup=False)
        return error.exit_code
    for goal in chosen:
        keep(attempt(goal(), out) | stamp())
    return 0


def _chosen(only: str | None) -> list[type[Goal]]:
    chosen = [goal for goal in GOALS if only in (None, goal.name)]
    if not chosen:
        names = ", ".join(goal.name for goal in GOALS)
        raise UsageError(f"goal '{only}'", "is unknown", f"one of: {names}")
    return chosen


sys.exit(main())
