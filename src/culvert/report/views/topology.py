"""Drawings of the measured topologies, and the resources used by nodes other than the ends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from culvert.errors import some
from culvert.json_text import read_json
from culvert.report.leaves import evidence
from culvert.report.model import Data, FigureTable
from culvert.report.numbers import grouped
from culvert.topology.drawing import Chain, chains

_BOX, _GAP, _ROW, _HEIGHT = 190, 34, 46, 30
_THIRD = ("node_cpu_s", "node_memory_peak_bytes", "node_received_packets")


@dataclass(frozen=True)
class TopologyView:
    """One drawing: an SVG, and the conditions in which it was measured."""

    title: str
    paths: str
    svg: Markup


def topology_views(data: Data) -> list[TopologyView]:
    """Each distinct topology once; empty if trials have none (older runs, imports)."""
    conditions: dict[str, dict[str, None]] = {}
    for condition, text in data.trials.select("condition", "evidence").iter_rows():
        document = evidence(text).get("topology")
        if isinstance(document, Mapping):
            key = json.dumps(document, sort_keys=True)
            conditions.setdefault(key, {})[str(condition)] = None
    every = set(data.trials["condition"].to_list())
    views = []
    for key, names in conditions.items():
        document = read_json(key)
        where = "" if set(names) == every else f", in condition {', '.join(names)}"
        title = f"{document.get('name', '')}{where}"
        # A foreign document may name nodes that it does not have, or have another form.
        with suppress(AttributeError, KeyError, TypeError, ValueError):
            views.append(TopologyView(title, _paths(document), _svg(document)))
    return views


def third_nodes_table(data: Data) -> FigureTable:
    """Servers, relays, routers and other members: medians over trials, by role."""
    columns = ("VPN", "Cell", "node", "role", "CPU, s", "peak memory, MB", "packets received")
    found = data.summary.filter(pl.col("metric").is_in(_THIRD))
    cells: dict[tuple[str, ...], dict[str, float]] = {}
    for row in found.iter_rows(named=True):
        labels = read_json(row["labels"])
        cell = data.labels.cell(row["condition"], row["measurement"], row["parameters"])
        key = (row["vpn"], cell, str(labels.get("node", "")), str(labels.get("role", "")))
        cells.setdefault(key, {})[row["metric"]] = row["median"]
    rows = tuple(
        (
            *key,
            _number(figures.get("node_cpu_s"), 1, 3),
            _number(figures.get("node_memory_peak_bytes"), 1e6, 1),
            _number(figures.get("node_received_packets"), 1, 0),
        )
        for key, figures in sorted(cells.items())
    )
    return FigureTable(columns, "llllrrr", rows)


def _number(value: float | None, unit: float, decimals: int) -> str:
    return "\u2013" if value is None else grouped(value / unit, decimals)


def _paths(document: Mapping[str, Any]) -> str:
    return some([f"{source} to {target}" for source, target in document.get("paths", ())])


def _svg(document: Mapping[str, Any]) -> Markup:
    """Chains of boxes, one per row, that end at the node with the most links."""
    found, hub = chains(document)
    columns = max((len(chain.nodes) for chain in found), default=1)
    width = (columns + (1 if hub else 0)) * (_BOX + _GAP)
    height = max(len(found), 1) * _ROW
    hub_x, middle = columns * (_BOX + _GAP), height / 2
    parts: list[Markup] = []
    for number, chain in enumerate(found):
        y = number * _ROW + _ROW / 2
        parts += _row(chain, columns, y)
        if hub:
            parts.append(_line(hub_x - _GAP, y, hub_x, middle))
    if hub:
        parts.append(_box(hub_x, middle, hub, "router"))
    names = ", ".join(label for chain in found for label in chain.nodes)
    return Markup(
        '<svg class="topology" role="img" viewBox="0 0 {} {}" width="{}" height="{}">'
        "<title>{}</title>{}</svg>"
    ).format(width, height, width, height, names, Markup("").join(parts))


def _row(chain: Chain, columns: int, y: float) -> Sequence[Markup]:
    """Right-aligned: the last box is next to the hub."""
    first = columns - len(chain.nodes)
    parts = []
    for place, label in enumerate(chain.nodes):
        x = (first + place) * (_BOX + _GAP)
        if place:
            parts.append(_line(x - _GAP, y, x, y))
        parts.append(_box(x, y, label, "end" if place == 0 and chain.measured else "node"))
    return parts


def _box(x: float, y: float, label: str, kind: str) -> Markup:
    return Markup(
        '<g class="{}"><rect x="{}" y="{}" width="{}" height="{}" rx="6"/>'
        '<text x="{}" y="{}">{}</text></g>'
    ).format(kind, x + 1, y - _HEIGHT / 2, _BOX - 2, _HEIGHT, x + _BOX / 2, y + 4, escape(label))


def _line(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}"/>').format(x1, y1, x2, y2)
