"""``culvert versions``: two commits of a VPN, built and measured in the same blocks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from culvert.analysis.observations import observations
from culvert.api.opening import measure
from culvert.api.run import Run
from culvert.commands.actions.compare import error_rate, metrics_of, share, write
from culvert.compare.fail_on import FailOn
from culvert.compare.form import Form
from culvert.compare.gate import advice, judge_head
from culvert.compare.outcome import CompareOutcome, compare
from culvert.compare.side import sides
from culvert.console import err
from culvert.decide.gate import Look
from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.journal.journal import Journal
from culvert.labs.this_machine import ThisMachine
from culvert.plan.plan import Plan
from culvert.study.builds import split_build
from culvert.study.study import Study
from culvert.study.table import near
from culvert.tools import preferring
from culvert.versions import composed
from culvert.versions.builds import Builder, BuildError
from culvert.versions.claim import metric_names
from culvert.versions.composed import Composed
from culvert.versions.repository import SHORT
from culvert.vpns.registry import installed_catalogue, of_study
from culvert.vpns.variant import in_words

BASE, HEAD = "base", "head"


@dataclass(frozen=True)
class VersionsRequest:
    """Options as written on the command line."""

    base: str
    head: str
    builder: Builder
    composed: Composed
    budget: str
    directory: Path
    tolerance: str
    margin: str
    alpha: str
    metrics: str | None
    fail_on: FailOn = FailOn.SLOWER


def run_versions(request: VersionsRequest, form: Form) -> bool:
    """Print the comparison, write it with the report; true if the gate fails: the head is slower, a
    cell of it has no trial that counts, or what else ``fail_on`` names. Raises CulvertError."""
    tolerance = share(request.tolerance, "--tolerance")
    margin = share(request.margin, "--margin")
    alpha = error_rate(request.alpha)
    if Journal.exists(request.directory):
        why = "it already contains a journal"
        raise UsageError(str(request.directory), why, "choose another --out")
    plan = {"blocks": {"budget": request.budget}}
    text = request.composed.text({BASE: composed.UNBUILT, HEAD: composed.UNBUILT}, plan)
    study = Study.parse(text, installed_catalogue(), source=request.composed.study)
    metrics = metrics_of(request.metrics)
    _require_metrics(study, metrics)
    revisions = {BASE: request.base, HEAD: request.head}
    commits = {name: request.builder.repository.commit(one) for name, one in revisions.items()}
    builds = {}
    for name, commit in commits.items():
        try:
            builds[name] = request.builder.build(commit)
        except BuildError as error:
            raise BuildError(f"{name}, {error.what}", error.why, error.remedy) from error
        err.print(f"{name}: {revisions[name]}, built at {commit[:SHORT]}", markup=False)
    both = [vpn for vpn in study.vpns if study.build_of(vpn)]
    for vpn in both:
        _require_parts(vpn, builds[split_build(vpn)[1]].directory)
    file = composed.write(request.composed.text(builds, plan), request.directory)
    budget_s = Plan.of(study).budget_s
    assert budget_s is not None  # it is in the plan above
    for look in Look.of_budget(budget_s):
        run = _measured(file, request.directory, look)
        with Journal.open(run.directory) as journal:
            seen = observations(journal.rows())
        judged = judge_head(seen, *both, margin=margin, alpha=alpha, look=look)
        if judged and judged[0].ends:
            break
    for vpn in both:
        _require_trials(run, vpn)
    a, b = sides([str(run.directory)], both)
    outcome = compare(a, b, tolerance=tolerance, alpha=alpha, metrics=metrics)
    outcome = replace(outcome, gate=judged, advice=advice(judged, look, margin))
    write(outcome, Form.MARKDOWN, run.directory / "compare.md")
    write(outcome, Form.JUNIT, run.directory / "compare.xml")
    err.print(f"report: {run.report().absolute()}", markup=False)
    write(outcome, form, None)
    undecided = outcome.undecided and request.fail_on is FailOn.CANNOT_TELL
    return outcome.regressed or broken(outcome) or undecided


def _measured(file: Path, directory: Path, look: Look) -> Run:
    """The run until that look."""
    with redirect_stdout(sys.stderr):  # standard output is for the comparison
        return measure(file, directory, budget=f"{look.after}s", resume=look.number > 0)


def broken(outcome: CompareOutcome) -> bool:
    """Whether a cell that the base has was not measured with the head: it is no VPN any more."""
    return any(one.side == "B" for one in outcome.absent)


def _require_metrics(study: Study, patterns: Sequence[str]) -> None:
    """Raise UsageError if the study measures none of these."""
    kinds = {one.kind for measured in study.requested.values() for one in measured}
    known = {name for kind in kinds for name in metric_names(kind)}
    if patterns and not any(fnmatchcase(name, one) for name in known for one in patterns):
        why = "the study measures no such metric"
        raise UsageError(f"--metrics {','.join(patterns)}", why, near(patterns[0], known))


def _require_parts(vpn: str, build: Path) -> None:
    """Raise NotPossible if the VPN cannot run here with the programs of its build: else the whole
    budget would be spent on the baseline."""
    with preferring(build):
        missing = of_study(vpn).missing(ThisMachine())
    if missing:
        what, remedy = in_words(missing)
        raise NotPossible(vpn, f"missing: {what}", remedy)


def _require_trials(run: Run, vpn: str) -> None:
    """Raise CulvertError if no trial of the VPN counts."""
    status, reason = run.trials.filter(vpn=vpn).select("status", "reason").get_columns()
    if "ok" not in status.to_list():
        why = reason[0] if len(reason) else "it was not measured"
        raise CulvertError(vpn, f"no trial counts: {why}", f"culvert report {run.directory}")
