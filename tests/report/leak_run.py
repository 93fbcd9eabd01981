"""A run that looked for leaks, as a real one. Nothing here was measured."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from culvert.journal.frames import HISTOGRAMS_SCHEMA, ROWS_SCHEMA, SERIES_SCHEMA, TRIALS_SCHEMA

from .synthetic import Run, make_run

LEAKS: dict[tuple[str, str], list[dict[str, float]]] = {
    ("none", "run"): [{"udp": 40, "dns": 20}, {"udp": 41, "dns": 20}],
    ("tunnel", "run"): [{}, {}],
    ("tunnel", "kill"): [{"dns": 1}, {"dns": 2, "ipv6": 30}],
    ("tunnel+killswitch", "run"): [{}, {}],
    ("tunnel+killswitch", "kill"): [{}, {}],
}
"""Leaked packets by kind, of each trial; other cells are unsupported."""
FAILED = ("tunnel", "suspend")


def leak_run() -> Run:
    """Three VPNs and three phases, one after the other in two blocks."""
    run = make_run(vpns={}, conditions=()).run
    trials: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for block in (1, 2):
        for vpn in ("none", "tunnel", "tunnel+killswitch"):
            for phase in ("suspend", "kill", "run"):
                found = LEAKS.get((vpn, phase))
                status = "failed" if (vpn, phase) == FAILED else "ok" if found else "unsupported"
                trial = dict.fromkeys(TRIALS_SCHEMA) | {
                    "trial": len(trials) + 1,
                    "block": block,
                    "position": len(trials),
                    "vpn": vpn,
                    "version": "",
                    "condition": "dual-stack",
                    "measurement": "leak",
                    "parameters": json.dumps({"hold_s": 1.0, "phase": phase}),
                    "status": status,
                    "reason": None if found else f"{vpn}: it has no {phase}",
                    "started_at": "2026-11-20T10:00:00+00:00",
                    "duration_s": 5.0,
                    "measuring_s": 4.0,
                    "evidence": "{}",
                }
                trials.append(trial)
                common = {key: trial[key] for key in ROWS_SCHEMA if key in trial}
                common |= {"study": "leaks"}
                if found:
                    rows += [common | each for each in _rows(found[block - 1])]
                else:
                    rows.append(common | {"labels": "{}"})
    return Run(
        run,
        pl.DataFrame(rows, schema=ROWS_SCHEMA),
        pl.DataFrame(trials, schema=TRIALS_SCHEMA),
        pl.DataFrame(schema=HISTOGRAMS_SCHEMA),
        pl.DataFrame(schema=SERIES_SCHEMA),
    )


def _rows(kinds: dict[str, float]) -> list[dict[str, Any]]:
    total = float(sum(kinds.values()))
    packets = {"metric": "leaked_packets", "unit": "packets"}
    found = [packets | {"labels": "{}", "value": total}]
    for kind in ("dns", "udp", "ipv6"):
        labels = json.dumps({"kind": kind})
        found.append(packets | {"labels": labels, "value": float(kinds.get(kind, 0))})
    if kinds:
        for name, value in (("first_leak_ms", 2.5), ("last_leak_ms", 1230.0)):
            found.append({"metric": name, "unit": "ms", "labels": "{}", "value": value})
    labels = json.dumps({"flow": "udp"})
    found.append(
        {"metric": "attempted_messages", "unit": "packets", "labels": labels, "value": 50.0}
    )
    return found
