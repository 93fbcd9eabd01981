"""Every driver that is installed keeps the contract, and each way of breaking it is noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.runid import new_run_id
from culvert.topology.graph import Topology
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import PAIR, LabSpec
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.contract import Rule, check, smallest_topology
from culvert.vpns.mesh import MeshVpn
from culvert.vpns.registry import VpnId
from tests.here import HERE

from . import pretender

IDS = [str(vpn_id) for vpn_id in registry.all_variants()]
FIRST = [
    str(VpnId(name, driver.variants[0].name))
    for name, driver in registry.installed().drivers.items()
]
OTHERS = [
    *(text for text in IDS if text not in FIRST),
    *(
        f"{name}/{driver.variants[0].name}+{option}"
        for name, driver in registry.installed().drivers.items()
        for option in driver.options
    ),
]

BROKEN: list[tuple[type[pretender.Pretender], Rule]] = [
    (pretender.Unnamed, Rule.CLASS),
    (pretender.SharesState, Rule.CLASS),
    (pretender.BadThreadPattern, Rule.CLASS),
    (pretender.MissesSomething, Rule.MISSING),
    (pretender.MissesUnclearly, Rule.MISSING),
    (pretender.NoVersion, Rule.VERSION),
    (pretender.Refuses, Rule.LIFE),
    (pretender.Tracebacks, Rule.LIFE),
    (pretender.SecondTimeFails, Rule.LIFE),
    (pretender.NeverUp, Rule.UP),
    (pretender.ProxyNeverUp, Rule.UP),
    (pretender.WrongAddress, Rule.UP),
    (pretender.WrongInterface, Rule.INTERFACE),
    (pretender.SilentlyUserSpace, Rule.DATA_PATH),
    (pretender.EncryptsNowhere, Rule.DATA_PATH),
    (pretender.Shrinks, Rule.OVERHEAD),
    (pretender.FreeOfCharge, Rule.OVERHEAD),
    (pretender.Zigzag, Rule.OVERHEAD),
    (pretender.OneByteOff, Rule.LENGTHS),
    (pretender.WrongOuterPort, Rule.LENGTHS),
    (pretender.AllIsHandshake, Rule.LENGTHS),
    (pretender.NoHandshake, Rule.HANDSHAKE),
    (pretender.HalfAHandshake, Rule.HANDSHAKE),
    (pretender.StaticKey, Rule.HANDSHAKE),
    (pretender.ReturnsEarly, Rule.HANDSHAKE),
    (pretender.PublicSecret, Rule.SECRET_FILES),
    (pretender.UnmarkedKey, Rule.SECRET_FILES),
    (pretender.NoSecret, Rule.SECRET_FILES),
    (pretender.SecretInArguments, Rule.LEAKS),
    (pretender.SecretOfAProcess, Rule.LEAKS),
    (pretender.SecretInLog, Rule.LEAKS),
    (pretender.NeverDown, Rule.COLD),
    (pretender.WarmStart, Rule.COLD),
    (pretender.SaysGoodbye, Rule.CRASH),
    (pretender.KillsNothing, Rule.CRASH),
    (pretender.Exits, Rule.LIFE),
    (pretender.StaysDead, Rule.CRASH),
    (pretender.StaysDown, Rule.DROP),
    (pretender.DropsNothing, Rule.DROP),
    (pretender.ResumesNothing, Rule.DROP),
    (pretender.DropsNothingOnDemand, Rule.DROP),
    (pretender.TakesAnotherWay, Rule.ROUTE),
    (pretender.LeavesInterface, Rule.CLEAN),
    (pretender.LeavesProcess, Rule.CLEAN),
    (pretender.StopsOnce, Rule.CLEAN),
    (pretender.StopNeedsConnect, Rule.CLEAN),
]


def mesh(text: str) -> bool:
    """Whether it has a control server, and takes most of a minute."""
    return issubclass(registry.installed().driver(text.partition("/")[0]), MeshVpn)


def lab_of(link: LinkSpec, topology: Topology = PAIR) -> Callable[[], Lab]:
    return lambda: NetnsLab(new_run_id(), LabSpec(topology, link))


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    ("text", "mtu"),
    [
        *(
            pytest.param(text, 1500, marks=[pytest.mark.long] if mesh(text) else [])
            for text in FIRST
        ),
        *(pytest.param(text, 1500, marks=pytest.mark.long) for text in OTHERS),
        *(pytest.param(text, 1400, marks=pytest.mark.long) for text in FIRST),
    ],
)
def test_every_driver_keeps_the_contract(text: str, mtu: int) -> None:
    def make() -> Vpn:
        return registry.create(registry.parse(text))

    if lacks := make().missing(HERE):
        pytest.skip(f"{text} is not installed: {lacks[0].what}: {lacks[0].remedy}")
    assert check(make, lab_of(LinkSpec(mtu=mtu), smallest_topology(make()))) == []


def test_ids_are_unique() -> None:
    assert len(set(IDS)) == len(IDS)


def make(driver: type[pretender.Pretender]) -> Callable[[], Vpn]:
    return lambda: driver(driver.variants[0])


@pytest.mark.lab
@pytest.mark.parametrize("driver", [pretender.Pretender, pretender.Proxy])
def test_the_pretender_keeps_the_contract(driver: type[pretender.Pretender]) -> None:
    assert check(make(driver), lab_of(LinkSpec())) == []


BY_PACKETS = [
    (pretender.OneByteOff, Rule.LENGTHS),
    (pretender.HalfAHandshake, Rule.HANDSHAKE),
    (pretender.ReturnsEarly, Rule.HANDSHAKE),
]
"""Noticed by length, direction and time of what crosses the link."""


@pytest.mark.lab
@pytest.mark.vpn
@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=[pytest.mark.long] if mesh(text) else []) for text in FIRST],
)
def test_the_contract_is_kept_over_a_wire(text: str) -> None:
    def make() -> Vpn:
        return registry.create(registry.parse(text))

    if lacks := make().missing(HERE):
        pytest.skip(f"{text} is not installed: {lacks[0].what}: {lacks[0].remedy}")
    assert check(make, lab_of(LinkSpec(kind="wire"), smallest_topology(make()))) == []


@pytest.mark.lab
@pytest.mark.parametrize(("driver", "rule"), BY_PACKETS, ids=[d.__name__ for d, _ in BY_PACKETS])
def test_a_wire_shows_a_broken_driver(driver: type[pretender.Pretender], rule: Rule) -> None:
    violations = check(make(driver), lab_of(LinkSpec(kind="wire")))
    assert rule in {violation.rule for violation in violations}, violations


@pytest.mark.lab
@pytest.mark.parametrize(("driver", "rule"), BROKEN, ids=[d.__name__ for d, _ in BROKEN])
def test_a_broken_driver_is_noticed(driver: type[pretender.Pretender], rule: Rule) -> None:
    violations = check(make(driver), lab_of(LinkSpec()))
    assert rule in {violation.rule for violation in violations}, violations
    assert all(violation.detail for violation in violations)


def test_each_rule_is_broken_by_somebody() -> None:
    assert {rule for _, rule in BROKEN} == set(Rule)
