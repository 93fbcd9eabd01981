"""``culvert bisect``: the commit that changed a figure."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from culvert.commands.actions.compare import error_rate
from culvert.console import err, out, print_json
from culvert.versions.builds import Builder
from culvert.versions.claim import Claim
from culvert.versions.composed import Composed
from culvert.versions.repository import SHORT
from culvert.versions.rounds import Rounds
from culvert.versions.search import Found, Search


def run_bisect(
    good: str,
    bad: str,
    claim: str,
    builder: Builder,
    composed: Composed,
    directory: Path,
    *,
    error: str,
    most: int,
    as_json: bool,
) -> bool:
    """Print the commit; true if it is named. Raises CulvertError."""
    rate = error_rate(error)
    repository = builder.repository
    first, last = repository.commit(good), repository.commit(bad)
    commits = repository.after(first, last)
    rounds = Rounds(builder, composed, Claim.read(claim), first, directory)
    rounds.prepare(last)
    search = Search(
        commits,
        rounds.earlier(),
        rounds.difference,
        rounds.claim.change,
        rate,
        most // 2,
        lambda text: err.print(text, markup=False, highlight=False),
    )
    found = search.run()
    if as_json:
        print_json({"claim": claim, "trials": 2 * found.blocks, **asdict(found)})
    else:
        out.print(_said(found, rounds.claim, builder, len(commits)), markup=False, highlight=False)
    return found.named


def _said(found: Found, claim: Claim, builder: Builder, commits: int) -> str:
    chance = f"{100 * found.probability:.1f} %"
    lines = [f"{one[:SHORT]}  {builder.repository.subject(one)}" for one in found.commits]
    if len(lines) == 1:
        head = f"the first commit with the change, with a probability of {chance}:"
    elif found.named:
        head = (
            f"one of these commits has the change ({chance}); all but the last cannot be measured:"
        )
    else:
        head = (
            f"one of these {len(lines)} commits has the change ({chance}); more trials are needed:"
        )
    skipped = f", {len(found.skipped)} skipped" if found.skipped else ""
    tail = (
        f"{claim.measurement} {claim.metric or 'slower by'}: {100 * (found.ratio - 1):+.1f} %; "
        f"{commits} commits{skipped}, {found.blocks} blocks, {2 * found.blocks} trials"
    )
    return "\n".join([head, *lines, tail])
