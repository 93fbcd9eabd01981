"""A run over pairs of NATs that looks like a real one. Nothing here was measured."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from culvert.journal.frames import HISTOGRAMS_SCHEMA, ROWS_SCHEMA, TRIALS_SCHEMA
from culvert.topology.nat import Access
from tests.study.dummies import parse

from .synthetic import Run, make_run

STUDY = """
name = "nats"
vpns = ["none", "wireguard/go"]
lab = { topology = "mesh", members = 2 }
[[condition]]
name = "nat"
nat_pairs = "all"
[[measurement]]
kind = "rtt"
"""
HARD = (Access.SYMMETRIC, Access.UDP_BLOCKED)


def metrics(vpn: str, left: Access, right: Access) -> dict[str, float]:
    """The baseline needs the target without a NAT; "direct" relays between hard kinds; "lone" has
    no relay."""
    hard = (left in HARD and right in HARD) or Access.UDP_BLOCKED in (left, right)
    if vpn == "none":
        way = "direct" if right is Access.NONE else "no_path"
    elif hard:
        way = "relayed" if vpn == "mesh/direct" else "no_path"
    else:
        way = "direct"
    found: dict[str, float] = {one: one == way for one in ("direct", "relayed", "no_path")}
    if way != "no_path":
        found |= {"first_packet_ms": 13.4, "goodput_bps": 94.2e6}
    if way == "direct":
        found["direct_ms"] = 2410.0
        found["direct_resolution_ms"] = 50.0 if vpn == "mesh/direct" else 2410.0
    return found


def nat_run(blocks: int = 2) -> Run:
    """Three VPNs, one of them not installed; one cell failed, one is mixed."""
    study = parse(STUDY)
    run = make_run(vpns={}, conditions=()).run | {
        "study": "nats",
        "title": "Which VPN gets through which NATs?",
        "canonical": study.canonical,
    }
    trials: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for block in range(1, blocks + 1):
        for vpn in ("none", "mesh/direct", "lone", "absent"):
            for condition in study.file.condition:
                _, left, right = condition.name.split(".")
                pair = Access(left), Access(right)
                status, reason = "ok", None
                if vpn == "absent":
                    status, reason = "unsupported", "missing: absentd"
                elif vpn == "lone" and pair == (Access.NONE, Access.CGNAT):
                    status, reason = "failed", "lone: absentd ended with code 1"
                trial = dict.fromkeys(TRIALS_SCHEMA) | {
                    "trial": len(trials) + 1,
                    "block": block,
                    "position": len(trials),
                    "vpn": vpn,
                    "version": "1.2.3" if vpn == "mesh/direct" else "",
                    "condition": condition.name,
                    "measurement": "reachability",
                    "parameters": json.dumps({"duration": 3.0}),
                    "status": status,
                    "reason": reason,
                    "started_at": "2026-11-20T10:00:00+00:00",
                    "duration_s": 20.0,
                    "measuring_s": 18.0,
                    "evidence": "{}",
                }
                trials.append(trial)
                common = {key: trial[key] for key in ROWS_SCHEMA if key in trial}
                found = metrics(vpn, *pair) if status == "ok" else {}
                if vpn == "lone" and pair == (Access.SYMMETRIC, Access.SYMMETRIC) and block == 1:
                    found = metrics(vpn, Access.NONE, Access.NONE)
                for metric, value in found.items():
                    unit = "ms" if metric.endswith("_ms") else "bit/s" if "bps" in metric else "1"
                    row = {"metric": metric, "labels": "{}", "unit": unit, "value": float(value)}
                    rows.append(common | {"study": "nats"} | row)
                if not found:
                    rows.append(common | {"study": "nats", "labels": "{}"})
    series = {"trial": pl.Int64, "name": pl.String, "unit": pl.String, "labels": pl.String}
    lists = {"t_ns": pl.List(pl.Int64), "value": pl.List(pl.Float64)}
    return Run(
        run,
        pl.DataFrame(rows, schema=ROWS_SCHEMA),
        pl.DataFrame(trials, schema=TRIALS_SCHEMA),
        pl.DataFrame(schema=HISTOGRAMS_SCHEMA),
        pl.DataFrame(schema={**series, **lists}),
    )
