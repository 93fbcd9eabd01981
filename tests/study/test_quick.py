"""Quick on a simulated machine: its claims are decided early, and as at the end."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from bench.goals.quick_verdicts import BLOCKS, THIRD, editions, replay

from culvert.analysis.design import Design
from culvert.journal.frames import ROWS_SCHEMA
from culvert.plan.plan import Plan

GO, OPENVPN, STRONGSWAN = "wireguard/go", "openvpn/aes-256-gcm", "strongswan/esp-aes256gcm"
FIGURES = {
    "tcp": {
        "goodput_bps": {"none": 9.2, GO: 1.0, OPENVPN: 0.89, STRONGSWAN: 0.83},
        "cpu_s_per_gb": {"none": 0.1, GO: 1.0, OPENVPN: 1.25, STRONGSWAN: 1.4},
    },
    "rtt": {"rtt_p50_us": {"none": 0.29, GO: 1.0, OPENVPN: 0.86, STRONGSWAN: 1.05}},
    "initiation": {"total_ms": {"none": 0.001, GO: 1.0, OPENVPN: 1.92, STRONGSWAN: 3.37}},
    "udp": {"goodput_bps": {"none": 9.0, GO: 1.0, OPENVPN: 0.6, STRONGSWAN: 0.6}},
}
"""As measured on two cores, in shares of WireGuard's."""
SCATTER = 0.1
TOOK_S = {"tcp": 2.6, "udp": 1.7, "rtt": 1.25, "initiation": 0.8}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_third_of_the_time_gives_the_same_verdicts(seed: int) -> None:
    quick, fixed = editions()
    cells = Plan.of(fixed).cells
    noise = np.random.default_rng(seed)
    rows, trials = [], []
    for number in range(BLOCKS * len(cells)):
        block, cell = 1 + number // len(cells), cells[number % len(cells)]
        where = {"trial": number, "block": block}
        took = {"cell": cell.key, "duration_s": TOOK_S[cell.measurement]}
        trials.append({**where, **took})
        slow = math.exp(SCATTER * noise.standard_normal())
        for metric, middle in FIGURES[cell.measurement].items():
            told = {"vpn": cell.vpn, "condition": cell.condition, "measurement": cell.measurement}
            told |= {"parameters": cell.parameters, "metric": metric, "labels": "{}"}
            figure = {"unit": "1", "value": middle[cell.vpn] * slow, "status": "ok"}
            row = {**where, **told, **figure}
            rows.append({name: row.get(name) for name in ROWS_SCHEMA})
    found = replay(quick, fixed, pl.DataFrame(trials), pl.DataFrame(rows, schema=ROWS_SCHEMA))
    assert all(early == late == "supported" for early, late in found.verdicts.values())
    assert found.share <= THIRD


def test_its_columns_can_be_decided_at_its_first_look() -> None:
    quick, _ = editions()
    plan = Plan.of(quick)
    looks = Design.of(json.loads(quick.canonical)).looks
    assert looks == plan.looks
    assert looks.fewest() == plan.min_blocks
