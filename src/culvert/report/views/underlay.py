"""The underlay reported by the kernel in each trial, and the VPNs as their drivers declare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from culvert.labs.passage import PASSAGES
from culvert.report.leaves import evidence, find, leaf
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import grouped
from culvert.study.vpn_id import BASELINE

_DEVICE = {
    "device": "device",
    "mtu": "MTU, bytes",
    "queueing": "queueing",
    "offloads_on": "offloads that make super-packets",
    "checksum_offload": "checksum offload",
}


@dataclass(frozen=True)
class UnderlayView:
    """Nodes' ends of the underlay in one condition; ``steady`` is False if trials differ."""

    title: str
    table: FigureTable
    trials: int
    steady: bool


@dataclass(frozen=True)
class VpnView:
    """Versions and facts of one VPN."""

    name: str
    colour: str
    versions: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


_ByFact = dict[tuple[str, str], Counter[str]]
"""By fact and node: the number of trials with each value."""


def underlay_views(data: Data) -> list[UnderlayView]:
    """One view for all conditions if they are equal, else one each."""
    by_condition: dict[str, tuple[_ByFact, int]] = {}
    for condition, text in data.trials.select("condition", "evidence").iter_rows():
        underlay = evidence(text).get("underlay")
        if isinstance(underlay, Mapping) and underlay:
            by_fact, trials = by_condition.get(str(condition), ({}, 0))
            for fact, node, value in _facts(underlay):
                by_fact.setdefault((fact, node), Counter())[value] += 1
            by_condition[str(condition)] = by_fact, trials + 1
    kinds = [
        {key: set(values) for key, values in by_fact.items()}
        for by_fact, _ in by_condition.values()
    ]
    if len(kinds) > 1 and all(kind == kinds[0] for kind in kinds):
        merged: _ByFact = {}
        for by_fact, _ in by_condition.values():
            for key, values in by_fact.items():
                merged.setdefault(key, Counter()).update(values)
        trials = sum(count for _, count in by_condition.values())
        return [_view("in every condition", merged, trials)]
    alone = len(by_condition) == 1
    return [
        _view("" if alone else f"condition {condition}", by_fact, trials)
        for condition, (by_fact, trials) in by_condition.items()
    ]


def slowed_down(data: Data) -> tuple[str, ...]:
    """Conditions in which a CPU quota limited a node's programs."""
    found: dict[str, None] = {}
    for condition, text in data.trials.select("condition", "evidence").iter_rows():
        underlay = evidence(text).get("underlay")
        nodes = underlay.values() if isinstance(underlay, Mapping) else ()
        if any(isinstance(recorded, Mapping) and "cpu_quota" in recorded for recorded in nodes):
            found[str(condition)] = None
    return tuple(found)


def vpn_views(data: Data) -> list[VpnView]:
    """Version and facts of every VPN but the baseline; several values where trials differ."""
    facts: dict[str, dict[str, dict[str, None]]] = {}
    versions: dict[str, dict[str, None]] = {}
    for vpn, version, text in data.trials.select("vpn", "version", "evidence").iter_rows():
        if version:
            versions.setdefault(vpn, {})[version] = None
        recorded = evidence(text).get("vpn")
        if isinstance(recorded, Mapping):
            for name, value in recorded.items():
                facts.setdefault(vpn, {}).setdefault(str(name), {})[leaf(value)] = None
    return [
        VpnView(
            vpn,
            data.colours[vpn],
            tuple(versions.get(vpn, ())),
            tuple((name, " or ".join(found)) for name, found in facts.get(vpn, {}).items()),
        )
        for vpn in data.vpns
        if vpn != BASELINE
    ]


def _facts(underlay: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Fact, node and value as text."""
    for node, recorded in underlay.items():
        if not isinstance(recorded, Mapping):
            continue
        if "cpus" in recorded:
            cpus = recorded["cpus"]
            yield "CPUs of its processes", node, "any" if cpus is None else leaf(cpus)
        if "cpu_quota" in recorded:
            yield "CPU quota", node, leaf(recorded["cpu_quota"])
        for key, name in (("variables", "set for all programs"), ("steering", "packet steering")):
            if isinstance(recorded.get(key), Mapping):
                yield name, node, _settings(recorded[key])
        passages = recorded.get(PASSAGES)
        for other, passage in passages.items() if isinstance(passages, Mapping) else ():
            yield f"path to {other}", node, _settings(passage)
        for key, name in _DEVICE.items():
            value = find(recorded, "underlay", key)
            if value is not None:
                yield name, node, _device(key, value)
        sysctls = recorded.get("sysctls")
        for name, value in sysctls.items() if isinstance(sysctls, Mapping) else ():
            yield str(name), node, leaf(value)


def _settings(recorded: object) -> str:
    """Names and values on one line; those of a device's queues follow each other."""
    if not isinstance(recorded, Mapping):
        return leaf(recorded)
    return ", ".join(
        f"{name}{': ' if isinstance(value, Mapping) else ' = '}{_settings(value)}"
        for name, value in recorded.items()
    )


def _device(key: str, value: object) -> str:
    if key == "offloads_on":
        return leaf(value) if value else "none"
    if key == "checksum_offload":
        return "on" if value else "off"
    return leaf(value)


def _view(title: str, by_fact: _ByFact, trials: int) -> UnderlayView:
    nodes = sorted({node for _, node in by_fact})
    facts = list(dict.fromkeys(fact for fact, _ in by_fact))
    rows = tuple((fact, *(_cell(by_fact.get((fact, node))) for node in nodes)) for fact in facts)
    table = FigureTable(
        ("reported by the kernel", *(f"node {node}" for node in nodes)),
        "l" * (1 + len(nodes)),
        rows,
    )
    return UnderlayView(title, table, trials, all(len(values) == 1 for values in by_fact.values()))


def _cell(values: Counter[str] | None) -> str:
    if not values:
        return "\u2013"
    if len(values) == 1:
        return next(iter(values))
    recorded = (f"{value} in {grouped(count, 0)} trials" for value, count in values.most_common())
    return f"differs: {'; '.join(recorded)}"
