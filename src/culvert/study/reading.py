"""Checks a valid study file as a whole: names that one table uses and another defines."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from culvert.errors import UsageError
from culvert.study import checks
from culvert.study.builds import split_build
from culvert.study.catalogue import Catalogue
from culvert.study.claims.claim import PublishedTable, PublishedValue
from culvert.study.claims.lacking import Lacking, names_of
from culvert.study.claims.language import ClaimTestError, parse_claim_test
from culvert.study.claims.names import StudyNames, UnknownNameError
from culvert.study.claims.test import ClaimTest, Where
from culvert.study.conditions.topology import topology_of, underlay_of
from culvert.study.edition import Edition
from culvert.study.lines import Path
from culvert.study.model import StudyFile
from culvert.study.parameters import Requested, requested
from culvert.study.problems import Problem
from culvert.study.scaling import moved, scaled
from culvert.study.table import near
from culvert.study.vpn_id import BASELINE
from culvert.topology.shapes import serving


class Reading:
    """``problems`` holds all errors; without any, ``editions`` holds an edition by the name of each
    scale, and the whole study by the empty name."""

    def __init__(self, file: StudyFile, catalogue: Catalogue, lacking_lab: str) -> None:
        self.problems: list[Problem] = []
        self.editions: dict[str, Edition] = {}
        self._catalogue = catalogue
        self._spellings: dict[str, str] = {}
        lacking_vpns = self._read_vpns(file)
        kinds = names_of(file.lacking, "measurement")
        conditions = names_of(file.lacking, "condition")
        names = {condition.name for condition in file.condition}
        self.lacking = Lacking(
            lacking_vpns,
            {kind: why for kind, why in kinds.items() if kind not in catalogue.measurements},
            {name: why for name, why in conditions.items() if name in names},
            lacking_lab,
        )
        self.problems += checks.congestion_problems(file, catalogue, self.lacking)
        self.problems += checks.cpu_problems(file)
        self.problems += self._topology_problems(file)
        too_large = checks.size_problems(file, catalogue, ("measurement",))
        if too_large:
            self.problems += too_large
            return
        whole = self._edition(file)
        self.problems += checks.exclude_problems(whole)
        self.problems += self._underlay_problems(whole)
        self.editions[""] = whole = self._judged(whole)
        self.problems += checks.rule_problems(whole)
        if not self.problems:
            for name in file.scale:
                self._read_scale(whole, name)

    def _read_vpns(self, file: StudyFile) -> dict[str, str]:
        """Fill the spellings; return the reasons for missing VPNs, by name."""
        reasons = names_of(file.lacking, "vpn")
        lacking: dict[str, str] = {}
        seen: set[str] = set()
        for index, word in enumerate(file.vpns):
            try:
                vpn = self._catalogue.canonical_vpn(word)
            except UsageError as error:
                if word not in reasons:
                    why = f"{error.what}: {error.why}"
                    self.problems.append(Problem(("vpns", index), why, error.remedy))
                    continue
                vpn, lacking[word] = word, reasons[word]
            build = split_build(vpn)[1]
            if build and build not in file.build:
                why = f'"{word}" names a build that the study does not define'
                remedy = near(build, file.build) if file.build else f"add [build.{build}]"
                self.problems.append(Problem(("vpns", index), why, remedy))
            if vpn in seen:
                why = f'"{vpn}" is listed twice'
                self.problems.append(Problem(("vpns", index), why, "list it once"))
            seen.add(vpn)
            self._spellings[word] = vpn
        return lacking

    def _topology_problems(self, file: StudyFile) -> list[Problem]:
        """VPNs that cannot run on the lab's topology: a server is missing, or too many nodes."""
        topology = topology_of(file.lab)
        found = []
        for index, word in enumerate(file.vpns):
            vpn = self._spellings.get(word)
            if vpn is None or word in self.lacking.vpns:
                continue
            placing = self._catalogue.placing(vpn)
            try:
                placed = serving(topology, placing.needs)
            except UsageError as error:
                why = f'"{vpn}" on {error.what}: {error.why}'
                found.append(Problem(("vpns", index), why, error.remedy))
                continue
            most, count = placing.most_members, len(placed.members)
            if most is not None and count > most:
                why = (
                    f'"{vpn}" connects at most {most} nodes, '
                    f'but the topology "{topology.name}" has {count}'
                )
                remedy = 'write topology = "pair" in [lab], or exclude the VPN'
                found.append(Problem(("vpns", index), why, remedy))
        return found

    def _underlay_problems(self, whole: Edition) -> list[Problem]:
        """VPNs that do not support the underlay of a condition, unless none of its cells is
        measured with them."""
        found = []
        for index, word in enumerate(whole.file.vpns):
            vpn = self._spellings.get(word)
            if vpn is None or word in self.lacking.vpns:
                continue
            possible = self._catalogue.placing(vpn).underlays
            for condition in whole.file.condition:
                version = underlay_of(whole.file.lab, condition)
                if version not in possible and whole.measures(vpn, condition.name):
                    why = f'"{vpn}" is not supported over an underlay of {version.word}'
                    remedy = (
                        f'leave it out, or exclude it there: [[exclude]] vpns = ["{word}"], '
                        f'conditions = ["{condition.name}"]'
                    )
                    found.append(Problem(("vpns", index), why, remedy))
                    break
        return found

    def _requested(self, file: StudyFile) -> tuple[dict[str, tuple[Requested, ...]], list[Problem]]:
        """The measurements of each condition, and each problem in them once."""
        found: dict[str, tuple[Requested, ...]] = {}
        problems: list[Problem] = []
        for condition in file.condition:
            cells, wrong = requested(
                file.measurement, condition, self._catalogue, self.lacking.measurements
            )
            found[condition.name] = tuple(cells)
            problems += [problem for problem in wrong if problem not in problems]
        return found, problems

    def _edition(self, file: StudyFile) -> Edition:
        found, problems = self._requested(file)
        self.problems += problems
        vpns = tuple(self._spellings[word] for word in file.vpns if word in self._spellings)
        return Edition(file, vpns, found)

    def _judged(self, whole: Edition) -> Edition:
        """The edition with its claims and published values."""
        names = StudyNames(
            {BASELINE: BASELINE, **self._spellings},
            [condition.name for condition in whole.file.condition],
            whole.cells,
            self._catalogue,
        )
        tests: dict[str, ClaimTest] = {}
        for index, claim in enumerate(whole.file.claim):
            if claim.test is None:
                continue
            try:
                tests[claim.id] = parse_claim_test(claim.test, names)
            except ClaimTestError as error:
                path: Path = ("claim", index, "test")
                why = f"column {error.column}: {error.why}"
                self.problems.append(Problem(path, why, error.remedy))
        published: list[PublishedValue] = []
        for index, table in enumerate(whole.file.published):
            outcome = _published(table, names, ("published", index))
            if isinstance(outcome, Problem):
                self.problems.append(outcome)
            else:
                published.append(outcome)
        return replace(whole, tests=tests, published=tuple(published))

    def _read_scale(self, whole: Edition, name: str) -> None:
        file, problems = scaled(whole.file, name, self._spellings)
        problems = [*problems, *checks.size_problems(file, self._catalogue, ("scale", name))]
        found: dict[str, tuple[Requested, ...]] = {}
        if not problems:
            found, wrong = self._requested(file)
            # Cells that differ in the whole study may be equal in a scale: each is measured once.
            problems = [_in_scale(one, whole, file, name) for one in wrong if not one.repeated]
        if problems:
            self.problems += problems
            return
        smaller = Edition(file, tuple(self._spellings[word] for word in file.vpns), found)
        tests = {
            key: test.moved(partial(self._moved, test.measurement, whole, smaller))
            for key, test in whole.tests.items()
        }
        published = tuple(
            replace(value, where=self._moved(value.measurement, whole, smaller, value.where))
            for value in whole.published
        )
        self.editions[name] = replace(smaller, tests=tests, published=published)

    @staticmethod
    def _moved(kind: str, whole: Edition, smaller: Edition, where: Where) -> Where:
        return moved(where, kind, whole.cells, smaller.cells)


def _in_scale(problem: Problem, whole: Edition, file: StudyFile, name: str) -> Problem:
    """A problem of a measurement that a scale has changed, at the scale's own key."""
    kind, inner = file.measurement[int(problem.path[1])].kind, problem.path[2:]
    at = (kind, *inner) if kind in whole.file.scale[name].parameters else inner
    return Problem(("scale", name, *at), f"{kind}: {problem.why}", problem.remedy)


def _published(table: PublishedTable, names: StudyNames, here: Path) -> PublishedValue | Problem:
    key: tuple[str, ...] = ("vpn",)
    try:
        vpn = names.vpn(table.vpn)
        key = ("metric",)
        unit = names.unit_of(table.measurement, table.metric)
        key = ("condition",)
        condition = None if table.condition is None else names.condition(table.condition)
        parameters = []
        for name, value in table.parameters.items():
            key = ("parameters", name)
            parameters.append((name, names.value(table.measurement, name, value)))
        key = ("unit",)
        value = names.quantity(table.value, table.unit, unit)
        sd = None if table.sd is None else names.quantity(table.sd, table.unit, unit)
    except UnknownNameError as error:
        return Problem((*here, *key), error.why, error.remedy)
    return PublishedValue(
        vpn,
        table.measurement,
        table.metric,
        Where(condition, tuple(sorted(parameters))),
        value,
        unit or table.unit,
        f"{table.value:g} {table.unit}",
        table.place,
        sd,
        table.n,
        table.note,
    )
