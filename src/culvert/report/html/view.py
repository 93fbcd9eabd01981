"""The facts at the top of the page, and the commands that repeat the run."""

from __future__ import annotations

import re
import shlex

from culvert.analysis.observations import BASELINE
from culvert.report.leaves import at
from culvert.report.model import Data
from culvert.report.numbers import duration
from culvert.report.run_info import moment

_TRADEMARK = re.compile(r"\((?:R|TM)\)")


def facts(data: Data) -> list[tuple[str, str]]:
    """The facts on run and machine at the top of the page."""
    run, environment = data.run, data.run.environment
    begin = moment(run.started_at)
    found = [
        (
            "Imported" if run.imported else "Measured",
            begin.strftime("%Y-%m-%d %H:%M UTC") if begin else run.started_at,
        ),
        ("Took", _took(data)),
        ("Trials", _trials(data)),
        ("Lab", run.lab),
        ("Kernel", at(environment, "kernel", "release")),
        ("Processor", _TRADEMARK.sub("", at(environment, "cpu", "model"))),
        ("CPUs", at(environment, "cpu", "threads")),
        ("Governor", _governor(data)),
        ("Culvert", run.culvert_version),
    ]
    return [(name, value) for name, value in found if value]


def _took(data: Data) -> str:
    run = data.run
    return "" if run.imported or run.duration_s is None else duration(run.duration_s)


def _governor(data: Data) -> str:
    governors = at(data.run.environment, "cpu", "frequency", "governors")
    return governors or ("" if data.run.imported else "none visible")


def _trials(data: Data) -> str:
    blocks = data.trials["block"].n_unique()
    return f"{data.counts.total} in {'one block' if blocks == 1 else f'{blocks} blocks'}"


def reproduce(data: Data) -> str:
    """The commands that repeat the run, quoted for a shell."""
    install = [shlex.quote(vpn) for vpn in data.vpns if vpn != BASELINE]
    lines = [f"sudo culvert install {' '.join(install)}"] if install else []
    lines += ["culvert run study.toml --out again", "culvert report again"]
    return "\n".join(lines)
