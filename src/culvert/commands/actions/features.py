"""``culvert features``: the framework, and the tests that verify its cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rich.console import Group, RenderableType

from culvert.console import err
from culvert.errors import NotPossible, UsageError
from culvert.features.framework import Driven, Row, framework
from culvert.features.known import known
from culvert.features.record import Record, add_records, read_records
from culvert.features.show import details, overview
from culvert.features.verify.bench import FeatureTest
from culvert.features.verify.run import TESTS, verified
from culvert.labs.this_machine import ThisMachine
from culvert.study.table import near
from culvert.study.vpn_id import BASELINE, family_of
from culvert.vpns import listing, registry


def rows(names: Sequence[str]) -> list[Row]:
    """The framework's rows for VPNs by name or id; all without any. Raises UsageError for an
    unknown name."""
    every = framework(known(), driven(), read_records())
    if not names:
        return every
    by_name = {row.name: row for row in every}
    families = dict.fromkeys(map(family_of, names))
    for family in families:
        if family not in by_name:
            raise UsageError(f"VPN '{family}'", "is unknown", near(family, by_name))
    return [by_name[family] for family in families]


def driven() -> list[Driven]:
    """Every driver except the baseline, with the versions that are installed here."""
    versions: dict[str, dict[str, str]] = {}
    for row in listing.list_vpns(ThisMachine()):
        name = family_of(row.vpn)
        if name == BASELINE:
            continue
        found = versions.setdefault(name, {})
        if row.version is not None:
            found[row.vpn] = row.version
    return [Driven(name, found) for name, found in versions.items()]


def verify(names: Sequence[str], tests: Sequence[str]) -> int:
    """Run tests with VPNs, print each result on standard error, and keep each record when it is
    there: an end in the middle loses none.

    A name without a variant stands for all its variants that are installed; no test's name for all
    tests. Returns the number of VPNs that were tested. Raises UsageError for an unknown name.
    """
    chosen = [_test(name) for name in tests] or list(TESTS)
    done = 0
    for vpn_id in _variants(names):
        try:
            for record in verified(partial(registry.create, vpn_id), chosen):
                _keep(record)
        except NotPossible as error:
            err.print(f"{vpn_id}: {error.why} ({error.remedy})", markup=False)
            continue
        done += 1
    return done


def _variants(names: Sequence[str]) -> list[registry.VpnId]:
    if not names:
        raise UsageError("--verify", "needs a VPN", "write culvert features VPN --verify")
    chosen: list[registry.VpnId] = []
    for name in names:
        if name in registry.installed().drivers:
            chosen += [each for each in listing.listed() if each.name == name]
        else:
            chosen.append(registry.parse(name))
    return list(dict.fromkeys(chosen))


def _test(name: str) -> type[FeatureTest]:
    found = {test.name: test for test in TESTS}
    if name not in found:
        raise UsageError(f"test '{name}'", "is unknown", near(name, found))
    return found[name]


def _keep(record: Record) -> None:
    add_records([record])
    answer = "undecided" if record.holds is None else "yes" if record.holds else "no"
    words = f"{record.vpn}  {record.test}  {answer}  {record.detail}"
    err.print(words, markup=False)


def shown(found: Sequence[Row], *, in_detail: bool) -> RenderableType:
    """For the terminal."""
    if not in_detail:
        return overview(found)
    return Group(*(details(row) for row in found))
