"""What ``culvert run`` shows at its end: why trials do not count, how many do, where they are."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from culvert.console import out
from culvert.report.claims import Claims
from culvert.report.claims import as_json as as_document
from culvert.report.labels import Labels
from culvert.report.terminal.claims import claims_text
from culvert.results import Status
from culvert.run.output.progress import STYLES, clock
from culvert.run.output.tally import Tally, TrialProblem
from culvert.units import plural

MOST_PROBLEMS = 8
"""Problems that the summary lists; the report has all."""


def summary_document(directory: Path, tally: Tally, claims: Claims) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "directory": str(directory),
        "trials": {str(status): count for status, count in tally.statuses.items()},
        "lacking": tally.lacking,
        "problems": [problem.as_json(count) for problem, count in tally.problems.items()],
        "elapsed_s": tally.elapsed_s,
        "measuring_s": tally.measuring_s,
        "measuring_share": tally.measuring_share,
        "stopped": tally.stopped,
        "notes": tally.notes,
        "claims": as_document(claims)["claims"],
    }


def _counted(counts: Mapping[Status, int]) -> str:
    return "  ".join(
        f"[{STYLES[status]}]{count} {status}[/]" for status, count in counts.items() if count
    )


def print_summary(directory: Path, tally: Tally, claims: Claims, labels: Labels) -> None:
    """Problems with their whole reasons; counts, notes and the next command; claims."""
    problems = tally.common_first
    for vpns, problem, count in problems[:MOST_PROBLEMS]:
        _explain(vpns, problem, count, wordings=len(tally.reasons.get(problem, ())))
    if len(problems) > MOST_PROBLEMS:
        out.print(f"... and {len(problems) - MOST_PROBLEMS} more problems: see the report")
    trials = {status: count - tally.links[status] for status, count in tally.statuses.items()}
    shown = _counted(trials) or "no trial was left to run"
    if links := _counted(tally.links):
        shown += f"   links verified: {links}"
    out.print(
        f"{shown}   {clock(tally.elapsed_s)} min, "
        f"{100 * tally.measuring_share:.0f} % of the time measuring   ({tally.stopped})"
    )
    for note in tally.notes[:MOST_PROBLEMS]:
        out.print(note, markup=False, style="yellow")
    if len(tally.notes) > MOST_PROBLEMS:
        out.print(f"... and {len(tally.notes) - MOST_PROBLEMS} more notes: see the journal")
    where = shlex.quote(str(directory))
    out.print(f"journal: {directory}   next: culvert report {where}", markup=False, soft_wrap=True)
    if claims.judged:
        out.print(claims_text(claims, labels))


def _explain(vpns: Sequence[str], problem: TrialProblem, count: int, *, wordings: int) -> None:
    """Why trials of these VPNs do not count, and the remedy."""
    names = ", ".join(vpns)
    trials = plural(count, "trial")
    style = STYLES[problem.status]
    example = "for example: " if wordings > 1 else ""
    out.print(
        Text(f"{names}: {trials} {problem.status}: {example}{problem.reason}", style=style),
        Text(f"  remedy: {problem.remedy}"),
        sep="\n",
        soft_wrap=not out.is_screen,  # a log keeps the whole reason in one line
    )
