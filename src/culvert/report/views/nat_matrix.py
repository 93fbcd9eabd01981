"""Reachability over pairs of kinds of access: a matrix for each VPN, rows and columns alike."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import polars as pl

from culvert.report.model import Data
from culvert.report.numbers import scale_for
from culvert.report.views.matrix import Cell, Matrices, Matrix, counted, no_result, time_text
from culvert.study.vpn_id import bare
from culvert.topology.nat import Access, Nat, access_of

MEASUREMENT = "reachability"
_OK = "ok"


class Way(StrEnum):
    """The result of a cell."""

    DIRECT = "direct"
    RELAYED = "relayed"
    NO_PATH = "no path"
    MIXED = "mixed"
    """Trials of the cell had different results."""
    NO_RESULT = "no result"
    """No trial counts."""


_METRICS = {Way.DIRECT: "direct", Way.RELAYED: "relayed", Way.NO_PATH: "no_path"}


NONE = Matrices(
    "nat-matrix",
    "NATs",
    "Which members reach each other through which NATs",
    "Rows: what member a is behind. Columns: what member b is behind. Each pair is measured once "
    "and shown at both places. A cell has the time to the first packet, the time until the path "
    "was direct if the program reported another route before, and the goodput of TCP: medians over "
    "the trials. Direct and relayed are proved by the packets at the relay.",
    {
        Way.DIRECT: "no packet crossed the relay",
        Way.RELAYED: "all packets crossed the relay",
        Way.NO_PATH: "no answer came",
        Way.MIXED: "not the same in each trial",
        Way.NO_RESULT: "no trial counts",
    },
    axes="a behind, b behind",
    corner="a \\ b",
)
"""Of a run that has no two conditions that are pairs of access."""


def nat_matrices(data: Data) -> Matrices:
    """One for each VPN."""
    trials = data.trials.filter(pl.col("measurement") == MEASUREMENT)
    pairs = pairs_of(data)
    if not pairs:
        return NONE
    present = {kind for pair in pairs.values() for kind in pair}
    kinds = tuple(kind for kind in Access if kind in present)
    rows = data.rows.filter(
        pl.col("measurement") == MEASUREMENT, pl.col("labels") == "{}", pl.col("status") == _OK
    )
    matrices, missing = [], []
    for vpn in sorted(data.vpns, key=bare):  # the baseline last: it shows what the NATs do
        own = trials.filter(pl.col("vpn") == vpn)
        if own.is_empty():
            continue
        if (own["status"] == "unsupported").all():
            missing.append(f"{vpn}: {own['reason'][0]}")
            continue
        cells = {
            frozenset(pair): _cell(
                own.filter(pl.col("condition") == name),
                rows.filter(pl.col("vpn") == vpn, pl.col("condition") == name),
            )
            for name, pair in pairs.items()
        }
        matrices.append(_matrix(vpn, own, kinds, cells))
    return replace(
        NONE, matrices=tuple(matrices), missing=tuple(missing), conditions=frozenset(pairs)
    )


def pairs_of(data: Data) -> dict[str, tuple[Access, Access]]:
    """The kinds in front of both ends, by the condition in which reachability was measured; empty
    if they are not two different pairs."""
    trials = data.trials.filter(pl.col("measurement") == MEASUREMENT)
    measured = set(trials["condition"].to_list())
    pairs = {name: pair for name, pair in _pairs(data.run.content).items() if name in measured}
    return pairs if len(set(pairs.values())) > 1 else {}


def _matrix(
    vpn: str,
    own: pl.DataFrame,
    kinds: Sequence[Access],
    cells: Mapping[frozenset[Access], Cell],
) -> Matrix:
    outcomes = [cell.outcome for cell in cells.values()]
    names = tuple(map(str, kinds))
    return Matrix(
        vpn,
        names,
        names,
        tuple(tuple(cells.get(frozenset((row, column))) for column in kinds) for row in kinds),
        f"{counted(outcomes, Way)} pairs",
        "" if bare(vpn) else next(filter(None, own["version"].to_list()), ""),
    )


def _cell(trials: pl.DataFrame, rows: pl.DataFrame) -> Cell:
    """From the trials of one cell, and the figures of those that count."""
    shares = {way: sum(_values(rows, metric)) for way, metric in _METRICS.items()}
    count = round(sum(shares.values()))
    if not count:
        return no_result(Way.NO_RESULT, trials)
    best = max(shares, key=lambda way: shares[way])
    way = best if round(shares[best]) == count else Way.MIXED
    words = [f"{one} {round(share)}/{count}" for one, share in shares.items() if share]
    first, direct, goodput = (
        _middle(rows, metric) for metric in ("first_packet_ms", "direct_ms", "goodput_bps")
    )
    lines = [] if way is not Way.MIXED else words[1:]
    sentences = [", ".join(words)]
    if first is not None:
        lines.append(time_text(first))
        sentences.append(f"first packet after {time_text(first)}")
    if direct is not None and _became_direct(rows, direct):
        lines.append(f"direct after {time_text(direct)}")
        sentences.append(f"direct after {time_text(direct)}")
    if goodput is not None:
        lines.append(scale_for("bit/s", [goodput]).text(goodput))
        sentences.append(f"TCP {lines[-1]}")
    return Cell(way, words[0] if way is Way.MIXED else way, tuple(lines), "; ".join(sentences))


def _became_direct(rows: pl.DataFrame, direct_ms: float) -> bool:
    """Whether the program reported another route before; else it was direct from the beginning."""
    return (_middle(rows, "direct_resolution_ms") or 0.0) < direct_ms


def _values(rows: pl.DataFrame, metric: str) -> list[float]:
    return [float(value) for value in rows.filter(pl.col("metric") == metric)["value"].to_list()]


def _middle(rows: pl.DataFrame, metric: str) -> float | None:
    values = _values(rows, metric)
    return statistics.median(values) if values else None


def _pairs(study: Mapping[str, Any]) -> dict[str, tuple[Access, Access]]:
    """The kinds of access in front of the first path's ends, by condition; from the study."""
    try:
        source, target = _ends(study["lab"].get("paths"))
        found = {
            str(one["name"]): (
                _access(one, study["lab"], source),
                _access(one, study["lab"], target),
            )
            for one in study["condition"]
            if study["lab"].get("topology") == "mesh"
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {name: (a, b) for name, (a, b) in found.items() if a is not None and b is not None}


def _ends(paths: Any) -> tuple[str, str]:
    first = paths[0] if isinstance(paths, list) and paths else "a>b"
    source, _, target = str(first).partition(">")
    return source, target


def _access(condition: Mapping[str, Any], lab: Mapping[str, Any], member: str) -> Access | None:
    """None for a combination without a name."""
    nat, blocked = (
        lab.get(key) if condition.get(key) is None else condition[key]
        for key in ("nat", "block_udp")
    )
    kinds = (nat if isinstance(nat, Mapping) else {"a": nat} if nat else {}).get(member, ())
    nats = [Nat(kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return access_of(nats, blocks_udp=isinstance(blocked, list) and member in blocked)
