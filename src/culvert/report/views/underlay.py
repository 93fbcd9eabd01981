"""The underlay as the kernel told it in each trial, and the VPNs as their drivers declare them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from culvert.analysis.observations import BASELINE
from culvert.report.leaves import evidence, find, leaf
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import grouped

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
    """What a reader should know of one VPN."""

    name: str
    colour: str
    versions: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


_Seen = dict[tuple[str, str], Counter[str]]
"""By fact and node: how many trials gave each value."""


def underlay_views(data: Data) -> list[UnderlayView]:
    """One for all conditions if they are alike, else one for each."""
    by_condition: dict[str, tuple[_Seen, int]] = {}
    for condition, text in data.trials.select("condition", "evidence").iter_rows():
        underlay = evidence(text).get("underlay")
        if isinstance(underlay, Mapping) and underlay:
            seen, trials = by_condition.get(str(condition), ({}, 0))
            for fact, node, value in _facts(underlay):
                seen.setdefault((fact, node), Counter())[value] += 1
            by_condition[str(condition)] = seen, trials + 1
    kinds = [
        {key: set(values) for key, values in seen.items()} for seen, _ in by_condition.values()
    ]
    if len(kinds) > 1 and all(kind == kinds[0] for kind in kinds):
        merged: _Seen = {}
        for seen, _ in by_condition.values():
            for key, values in seen.items():
                merged.setdefault(key, Counter()).update(values)
        trials = sum(count for _, count in by_condition.values())
        return [_view("in every condition", merged, trials)]
    alone = len(by_condition) == 1
    return [
        _view("" if alone else f"condition {condition}", seen, trials)
        for condition, (seen, trials) in by_condition.items()
    ]


def slowed_down(data: Data) -> tuple[str, ...]:
    """Conditions in which a node's programs had a share of the processors only."""
    found: dict[str, None] = {}
    for condition, text in data.trials.select("condition", "evidence").iter_rows():
        underlay = evidence(text).get("underlay")
        nodes = underlay.values() if isinstance(underlay, Mapping) else ()
        if any(isinstance(told, Mapping) and "cpu_quota" in told for told in nodes):
            found[str(condition)] = None
    return tuple(found)


def vpn_views(data: Data) -> list[VpnView]:
    """Version and facts of every VPN but the baseline; several values where trials differ."""
    facts: dict[str, dict[str, dict[str, None]]] = {}
    versions: dict[str, dict[str, None]] = {}
    for vpn, version, text in data.trials.select("vpn", "version", "evidence").iter_rows():
        if version:
            versions.setdefault(vpn, {})[version] = None
        told = evidence(text).get("vpn")
        if isinstance(told, Mapping):
            for name, value in told.items():
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
    for node, told in underlay.items():
        if not isinstance(told, Mapping):
            continue
        if "cpus" in told:
            cpus = told["cpus"]
            yield "CPUs of its processes", node, "any" if cpus is None else leaf(cpus)
        if "cpu_quota" in told:
            yield "CPU quota", node, leaf(told["cpu_quota"])
        for key, name in (("variables", "told to all programs"), ("steering", "packet steering")):
            if isinstance(told.get(key), Mapping):
                yield name, node, _settings(told[key])
        for key, name in _DEVICE.items():
            value = find(told, "underlay", key)
            if value is not None:
                yield name, node, _device(key, value)
        sysctls = told.get("sysctls")
        for name, value in sysctls.items() if isinstance(sysctls, Mapping) else ():
            yield str(name), node, leaf(value)


def _settings(told: Mapping[str, Any]) -> str:
    """Names and values on one line, those of a device's queues beside each other."""
    return ", ".join(
        f"{name}: {_settings(value)}" if isinstance(value, Mapping) else f"{name} = {leaf(value)}"
        for name, value in told.items()
    )


def _device(key: str, value: object) -> str:
    if key == "offloads_on":
        return leaf(value) if value else "none"
    if key == "checksum_offload":
        return "on" if value else "off"
    return leaf(value)


def _view(title: str, seen: _Seen, trials: int) -> UnderlayView:
    nodes = sorted({node for _, node in seen})
    facts = list(dict.fromkeys(fact for fact, _ in seen))
    rows = tuple((fact, *(_cell(seen.get((fact, node))) for node in nodes)) for fact in facts)
    table = FigureTable(
        ("as the kernel told it", *(f"node {node}" for node in nodes)),
        "l" * (1 + len(nodes)),
        rows,
    )
    return UnderlayView(title, table, trials, all(len(values) == 1 for values in seen.values()))


def _cell(values: Counter[str] | None) -> str:
    if not values:
        return "\u2013"
    if len(values) == 1:
        return next(iter(values))
    told = (f"{value} in {grouped(count, 0)} trials" for value, count in values.most_common())
    return f"differs: {'; '.join(told)}"
