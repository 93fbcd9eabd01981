"""Warnings about parts of a study that are valid but probably not intended."""

from __future__ import annotations

from culvert.plan.plan import Plan
from culvert.study.claims.lacking import names_of
from culvert.study.study import Study


def warnings_of(study: Study) -> list[str]:
    """One line for each warning, with a remedy."""
    return [*study.notes, *_few(study), *_untested(study), *_pointless(study), *_unread(study)]


def _few(study: Study) -> list[str]:
    plan = Plan.of(study)
    most, fewest = plan.max_blocks, plan.looks.fewest()
    if most is None or most >= fewest:
        return []
    blocks_give = "1 block gives" if most == 1 else f"{most} blocks give"
    return [f"{blocks_give} no interval: repeat at least {fewest} times"]


def _untested(study: Study) -> list[str]:
    without = [claim.id for claim in study.file.claim if claim.test is None]
    return [f"the claim {name} has no test and is not judged" for name in without]


def _pointless(study: Study) -> list[str]:
    """``[[lacking]]`` entries whose name the study does not use."""
    used = {
        "vpn": set(study.file.vpns),
        "measurement": {table.kind for table in study.file.measurement},
        "condition": {table.name for table in study.file.condition},
    }
    return [
        f'[[lacking]] names the {kind} "{name}", which the study does not use'
        for kind, words in used.items()
        for name in names_of(study.file.lacking, kind)
        if name not in words and not study.scale
    ]


def _unread(study: Study) -> list[str]:
    """Claims about cells that this scale leaves out."""
    kinds = {one.kind for found in study.requested.values() for one in found}
    found = []
    for name, test in study.tests.items():
        sides = test.vpns
        missing = [side.vpn for side in sides if side.vpn not in study.vpns]
        missing += [
            side.where.condition
            for side in sides
            if side.where.condition is not None and side.where.condition not in study.requested
        ]
        if test.measurement not in kinds:
            missing.append(test.measurement)
        if missing:
            names = ", ".join(dict.fromkeys(missing))
            found.append(f"the claim {name} cannot be judged at this scale, which omits {names}")
    return found
