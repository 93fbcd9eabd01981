"""``culvert vpns check``: the contract test of a driver, rule by rule."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.markup import escape

from culvert.console import err, out, print_json
from culvert.errors import NotPossible, UsageError
from culvert.labs.base import Lab
from culvert.labs.this_machine import ThisMachine
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.contract import (
    LogTail,
    Report,
    Rule,
    Verdict,
    Violation,
    examine,
    smallest_lab,
)

_MARKS = {
    Verdict.YES: "green",
    Verdict.NO: "yellow",
    Verdict.NOT_REACHED: "dim",
    Verdict.NOT_OFFERED: "dim",
}
_STEPS_FILE = "steps.txt"


def check_contract(
    word: str, link: str, *, as_json: bool, verbose: bool = False, keep: bool = False
) -> bool:
    """Print each rule and whether the driver passes it; True if it passes all.

    Raises UsageError for an unknown VPN or link, NotPossible if a requirement is missing here.
    """
    if link not in ("veth", "wire"):
        raise UsageError(f"link '{link}'", "is unknown", "use veth or wire")
    vpn_id = registry.parse(word)
    vpn = registry.create(vpn_id)
    for what, remedy in _missing(vpn):
        raise NotPossible(vpn.id, f"{what} is missing", remedy)
    folder = Path(tempfile.mkdtemp(prefix="culvert-check-")) if keep else None
    steps: list[str] = []

    def make_vpn() -> Vpn:
        return registry.create(vpn_id)

    def make_lab() -> Lab:
        return smallest_lab(vpn, link)

    def tell(line: str) -> None:
        steps.append(line)
        if verbose:
            err.print(line, markup=False)

    try:
        report = examine(make_vpn, make_lab, tell=tell if verbose or keep else None, keep=folder)
    finally:
        if folder is not None:
            (folder / _STEPS_FILE).write_text("\n".join([*steps, ""]))
            err.print(f"Kept without secrets: {folder}", markup=False)
    if as_json:
        print_json(_as_json(vpn.id, report, folder))
    else:
        _show(vpn.id, report, kept=folder)
    return not report.violations


def _missing(vpn: Vpn) -> Iterator[tuple[str, str]]:
    try:
        for missing in vpn.missing(ThisMachine()):
            yield missing.what, missing.remedy
    except Exception:  # of the driver: the check names the place
        return


def _as_json(vpn: str, report: Report, kept: Path | None) -> dict[str, Any]:
    return {
        "vpn": vpn,
        "kept": not report.violations,
        "rules": {rule.name.lower(): report.verdict(rule) for rule in Rule},
        "violations": [
            {**asdict(violation), "rule": violation.rule.name.lower()}
            for violation in report.violations
        ],
        "files": None if kept is None else str(kept),
    }


def _show(name: str, report: Report, kept: Path | None) -> None:
    width = max(map(len, Verdict))
    for rule in Rule:
        verdict = report.verdict(rule)
        reason = report.not_offered.get(rule, "") if verdict is Verdict.NOT_OFFERED else ""
        mark = f"[{_MARKS[verdict]}]{verdict:{width}}[/]"
        out.print(f"  {mark}  {escape(str(rule))}{escape(f' ({reason})') if reason else ''}")
        logs: tuple[LogTail, ...] = ()
        for violation in report.violations:
            if violation.rule is rule:
                new = () if violation.logs == logs else violation.logs
                logs = violation.logs
                _show_violation(replace(violation, logs=new), " " * (width + 4), kept)
    verdicts = [report.verdict(rule) for rule in Rule]
    broken, unknown = verdicts.count(Verdict.NO), verdicts.count(Verdict.NOT_REACHED)
    result = f"fails {broken} of {len(Rule)} rules" if broken else "passes the contract test"
    beyond = f"; {unknown} were not reached" if unknown else ""
    out.print(f"{name} {result}{beyond}", markup=False, style="bold")
    if broken and kept is None:
        out.print("--keep keeps the logs and files, --verbose shows each step.", markup=False)


def _show_violation(violation: Violation, indent: str, kept: Path | None) -> None:
    out.print(f"{indent}{violation.detail}", markup=False, style="yellow")
    for label, text in (("step", violation.step), ("driver", violation.place)):
        if text:
            out.print(f"{indent}  {label}: {text}", markup=False)
    for log in violation.logs:
        file = log.file if kept is None else kept / log.file
        out.print(f"{indent}  log {file}{'' if log.lines else ': empty'}", markup=False)
        for line in log.lines:
            out.print(f"{indent}    {line}", markup=False, style="dim")
