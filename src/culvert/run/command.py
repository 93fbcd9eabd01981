"""``culvert run``: from a study's name to a finished journal."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

import polars as pl
from rich.console import Console
from rich.table import Table

from culvert import __version__, environment
from culvert.errors import NotPossible, UsageError
from culvert.install_log import latest_installs
from culvert.journal.journal import Journal
from culvert.journal.record import RunHead, Status
from culvert.labs import cleanup
from culvert.labs.base import Lab, LabSpec
from culvert.labs.netns import NetnsLab
from culvert.plan.plan import Plan
from culvert.report.labels import Labels, everything
from culvert.run.progress import STYLES, Lines, Progress, Screen, Silent, clock
from culvert.run.runner import Runner, Tally, expected_s
from culvert.runid import new_run_id
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.cpus import cores
from culvert.study.study import Study
from culvert.vpns import registry

LABS = ("netns",)


@dataclass(frozen=True)
class RunRequest:
    """What the command line asks for."""

    study: str
    directory: Path | None
    resume: bool
    lab: str
    only: str | None

    def prepared(self) -> tuple[Study, Plan, Catalogue]:
        """The study and the plan of its cells; raises UsageError for what cannot be run."""
        if self.lab not in LABS:
            raise UsageError(f"lab '{self.lab}'", "is unknown", f"use {', '.join(LABS)}")
        catalogue = installed_catalogue()
        study = Study.load(self.study, catalogue)
        plan = Plan.of(study)
        if self.only is not None:
            plan = plan.only(self.only)
            if not plan.cells:
                raise UsageError(
                    f"--only '{self.only}'",
                    "matches no VPN, condition or measurement of the study",
                    f"see 'culvert run {self.study} --dry-run'",
                )
        return study, plan, catalogue


def installed_catalogue() -> Catalogue:
    """Measurements and VPNs of this Python environment."""
    return Catalogue(installed_measurements(), lambda word: str(registry.parse(word)))


def dry(request: RunRequest, out: Console, *, as_json: bool) -> None:
    """Print the cells and how long it takes; nothing is touched."""
    study, plan, catalogue = request.prepared()
    estimate = plan.estimate(lambda cell: expected_s(catalogue, cell))
    if as_json:
        cells = [
            {
                "vpn": cell.vpn,
                "condition": cell.condition,
                "measurement": cell.measurement,
                "parameters": json.loads(cell.parameters),
            }
            for cell in plan.cells
        ]
        what = {
            "study": study.name,
            "cells": cells,
            "min_blocks": plan.min_blocks,
            "max_blocks": plan.max_blocks,
            "block_s": estimate.block_s,
            "min_s": estimate.min_s,
            "max_s": estimate.max_s if estimate.max_s != float("inf") else None,
        }
        out.file.write(json.dumps(what, indent=2) + "\n")
        return
    out.print(_outline(study, plan))
    blocks = (
        str(plan.max_blocks)
        if plan.min_blocks == plan.max_blocks
        else f"{plan.min_blocks} to {plan.max_blocks or 'as many as fit'}"
    )
    whole = f", in all at most {clock(estimate.max_s)}" if estimate.max_s < float("inf") else ""
    out.print(
        f"{len(plan.cells)} cells, {blocks} blocks of about {clock(estimate.block_s)} min{whole}"
    )


def _outline(study: Study, plan: Plan) -> Table:
    """Each measurement in each condition, with the VPNs that it is made of."""
    vpns: dict[tuple[str, str, str], list[str]] = {}
    for cell in plan.cells:
        vpns.setdefault((cell.measurement, cell.condition, cell.parameters), []).append(cell.vpn)
    table = Table(
        title=study.title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0)
    )
    for column in ("measurement", "condition", "parameters", "VPNs"):
        table.add_column(column, overflow="fold")
    for (measurement, condition, parameters), names in vpns.items():
        table.add_row(measurement, condition, everything(parameters), ", ".join(names))
    return table


def run_study(request: RunRequest, out: Console, *, as_json: bool) -> Tally:
    """Run what the journal does not hold yet; say what came of it."""
    study, plan, catalogue = request.prepared()
    if os.geteuid() != 0:
        raise NotPossible("culvert run", "making network namespaces needs root", "run it with sudo")
    signal.signal(signal.SIGTERM, _interrupted)
    _remove_leftovers(out, quiet=as_json)
    directory = request.directory or _directory(study, resume=request.resume)
    head = RunHead.of(
        study, lab=request.lab, culvert_version=__version__, environment=environment.capture()
    )
    with ExitStack() as stack:
        begin = Journal.resume if request.resume else Journal.create
        journal = stack.enter_context(begin(directory, head))
        if not request.resume:
            for install in latest_installs({cell.vpn for cell in plan.cells}):
                journal.record_install(install)
        for note in study.notes if not as_json else ():
            out.print(note, style="dim")
        progress = _progress(out, study, plan, as_json=as_json)
        if isinstance(progress, Screen):
            stack.enter_context(progress)
        runner = Runner(
            study,
            plan,
            journal,
            catalogue,
            installed_measurements(),
            make_lab=_make_lab,
            cores=cores(),
            progress=progress,
        )
        try:
            tally = runner.run()
        except KeyboardInterrupt:
            out.print(
                f"interrupted; go on with: culvert run {request.study} --out {directory} --resume",
                markup=False,
            )
            raise
        journal.finish(tally.stopped)
    _summary(out, directory, tally, as_json=as_json)
    return tally


def _make_lab(spec: LabSpec) -> Lab:
    return NetnsLab(new_run_id(), spec)


def _progress(out: Console, study: Study, plan: Plan, *, as_json: bool) -> Progress:
    if as_json:
        return Silent()
    labels = Labels(
        pl.DataFrame(
            [(cell.condition, cell.measurement, cell.parameters) for cell in plan.cells],
            schema=["condition", "measurement", "parameters"],
            orient="row",
        )
    )
    if out.is_terminal:
        return Screen(out, study.title, labels)
    return Lines(out, labels)


def _directory(study: Study, *, resume: bool) -> Path:
    if resume:
        raise UsageError("--resume", "it is not said which run", "add --out DIR")
    return Path("results") / f"{study.name}-{datetime.now():%Y%m%d-%H%M%S}"


def _remove_leftovers(out: Console, *, quiet: bool) -> None:
    """What an interrupted run left behind would compete with this one."""
    removed = Counter(str(leftover.kind) for leftover in cleanup.remove_leftovers())
    if removed and not quiet:
        things = ", ".join(f"{count} {kind}" for kind, count in removed.items())
        out.print(f"removed what an interrupted run left behind: {things}", style="dim")


def _summary(out: Console, directory: Path, tally: Tally, *, as_json: bool) -> None:
    counts = {str(status): count for status, count in tally.statuses.items()}
    if as_json:
        what = {
            "directory": str(directory),
            "trials": counts,
            "elapsed_s": tally.elapsed_s,
            "measuring_s": tally.measuring_s,
            "measuring_share": tally.measuring_share,
            "stopped": tally.stopped,
        }
        out.file.write(json.dumps(what, indent=2) + "\n")
        return
    shown = "  ".join(
        f"[{STYLES[Status(status)]}]{count} {status}[/]"
        for status, count in counts.items()
        if count
    )
    out.print(
        f"{shown or 'nothing was left to do'}   {clock(tally.elapsed_s)} min, "
        f"{tally.measuring_share:.0%} of it measuring   ({tally.stopped})"
    )
    out.print(f"journal: {directory}   next: culvert report {directory}", markup=False)


def _interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
