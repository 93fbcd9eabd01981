"""One goal: what it needs, a calm machine, its measurement and its line."""

from __future__ import annotations

import os
import statistics
import subprocess
from dataclasses import asdict
from typing import Any

from rich.console import Console

from bench.calm import Watch, require_calm
from bench.goal import Goal, Samples
from culvert import tools
from culvert.errors import CulvertError, UsageError
from culvert.install.roles import install
from culvert.labs.this_machine import ThisMachine
from culvert.report.numbers import scale_for
from culvert.trial.surroundings import MOST_STOLEN
from culvert.vpns import registry


def attempt(goal: Goal, out: Console) -> dict[str, Any]:
    """The line of a goal, or of why it could not be measured: the others go on."""
    try:
        line = _one(goal, out)
    except (CulvertError, OSError, ValueError, subprocess.SubprocessError) as error:
        reason = f"{error}" or type(error).__name__
        out.print(f"{goal.name:<22} not possible: {reason}", markup=False)
        if isinstance(error, CulvertError) and error.remedy not in reason:
            out.print(f"{'':<22} remedy: {error.remedy}", markup=False)
        line = {"name": goal.name, "what": goal.what, "goal": goal.goal, "not_possible": reason}
    return line


def _one(goal: Goal, out: Console) -> dict[str, Any]:
    _prepare(goal)
    if goal.of_speed:
        require_calm()
    watch = Watch()
    samples = goal.measure()
    during = watch.load()
    met = goal.met(samples)
    if goal.of_speed and not met:
        require_calm()  # of a program that has begun meanwhile, too
    ours = statistics.median(samples.ours)
    scale = scale_for(goal.unit, [ours])
    parts = [f"{goal.name:<22} ours {scale.text(ours)}"]
    if samples.ratio is not None:
        low, high = samples.interval or (float("nan"), float("nan"))
        parts += [
            f"{goal.peer} {scale.text(statistics.median(samples.peer))}",
            f"ratio {samples.ratio:.3f} [{low:.3f}, {high:.3f}]",
        ]
    mark = "[green]met[/]" if met else "[red]not met[/]"
    out.print("   ".join([*parts, f"goal: {goal.goal}", mark]))
    if goal.of_speed and during.stolen > MOST_STOLEN:
        text = f"disturbed: the hypervisor took {during.stolen:.0%} of the CPU time during it"
        out.print(f"{'':<22} {text}", markup=False)
    for failed in [] if met else goal.failed(samples):
        out.print(f"{'':<22} {failed}", markup=False)
    return _as_json(goal, samples, met=met) | {"stolen": during.stolen}


def _prepare(goal: Goal) -> None:
    missing = [package for program, package in goal.programs if tools.find(program) is None]
    if missing:
        for words in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
            subprocess.run(
                ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", *words],
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "APT_CONFIG": ""},
            )
        for program, package in goal.programs:
            tools.require(program, f"apt-get could not install it: install {package} by hand")
    here = ThisMachine()
    wanted = [vpn for vpn in goal.vpns if registry.create(registry.parse(vpn)).missing(here)]
    if wanted:
        for result in install(wanted):
            if not result.ok:
                raise UsageError(f"install {result.vpn}", "; ".join(result.failures), "see above")


def _as_json(goal: Goal, samples: Samples, *, met: bool) -> dict[str, Any]:
    return {
        "name": goal.name,
        "what": goal.what,
        "unit": goal.unit,
        "peer": goal.peer or None,
        "ours": statistics.median(samples.ours),
        "peer_value": statistics.median(samples.peer) if samples.peer else None,
        "ratio": samples.ratio,
        "interval": samples.interval,
        "goal": goal.goal,
        "met": met,
        "samples": asdict(samples),
    }
