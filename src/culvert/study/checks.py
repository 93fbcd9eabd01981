"""What a study file must fulfil as a whole, beyond its names."""

from __future__ import annotations

from culvert.study.blocks import BlocksTable, StopRule
from culvert.study.catalogue import Catalogue
from culvert.study.claims.lacking import Lacking
from culvert.study.edition import Edition
from culvert.study.lines import Path
from culvert.study.model import StudyFile
from culvert.study.parameters import combinations, takes_congestion
from culvert.study.problems import Problem
from culvert.study.vpn_id import BASELINE, bare

MOST_CELLS = 10_000
"""A block measures each cell once: three hours at one second per trial."""


def size_problems(file: StudyFile, catalogue: Catalogue, here: Path) -> list[Problem]:
    """More cells than a block can measure."""
    crossed = sum(combinations(table, catalogue) for table in file.measurement)
    cells = (len(file.vpns) + 1) * len(file.condition) * crossed
    if cells <= MOST_CELLS:
        return []
    why = f"VPNs, conditions and measurements make {cells} cells, more than {MOST_CELLS}"
    return [Problem(here, why, "shorten its arrays, or split the study")]


def rule_problems(whole: Edition) -> list[Problem]:
    """A stopping rule about claims or ranks, of which none can be decided."""
    blocks = whole.file.plan.blocks
    if not isinstance(blocks, BlocksTable) or blocks.until is None:
        return []
    rule, found = StopRule.parse(blocks.until), []
    if rule.claims and not whole.tests:
        why = "no claim of the study has a test that could be decided"
        found.append(Problem(("plan", "blocks", "until"), why, "add a [[claim]] with a test"))
    if rule.ranks and len([vpn for vpn in whole.vpns if not bare(vpn)]) < 2:
        remedy = 'add a VPN, or remove "ranks decided"'
        found.append(Problem(("plan", "blocks", "until"), "one VPN has no ranks", remedy))
    return found


def exclude_problems(whole: Edition) -> list[Problem]:
    """Tables of ``[[exclude]]`` that match no cell."""
    found = []
    for index, table in enumerate(whole.file.exclude):
        if not any(
            table.matches(vpn, condition, one.kind, one.parameters)
            for condition, measurements in whole.requested.items()
            for one in measurements
            for vpn in (BASELINE, *whole.vpns)
        ):
            why = "no cell of the study matches it"
            found.append(Problem(("exclude", index), why, "correct its names, or remove it"))
    return found


def congestion_problems(file: StudyFile, catalogue: Catalogue, lacking: Lacking) -> list[Problem]:
    """A congestion control that no measurement has."""
    if lacking.measurements or any(
        takes_congestion(table, catalogue) for table in file.measurement
    ):
        return []
    why = "no measurement of this study has a congestion control"
    return [
        Problem(("condition", index, "congestion"), why, "leave it out, or add a tcp measurement")
        for index, condition in enumerate(file.condition)
        if condition.congestion is not None
    ]


def cpu_problems(file: StudyFile) -> list[Problem]:
    """Two keys that determine the same CPUs."""
    found = []
    for index, condition in enumerate(file.condition):
        if condition.cores is not None and condition.cpus is not None:
            why = "cores and cpus both determine which CPUs a node gets"
            found.append(Problem(("condition", index, "cores"), why, "leave one of them out"))
    return found
