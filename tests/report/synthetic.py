"""A seeded run that looks like a real one: frames in the journal's form, made from a model.

Each VPN has a true goodput, latency and cost; trials scatter around them; some are invalid, failed
or unsupported. Nothing here was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from culvert.journal.frames import HISTOGRAMS_SCHEMA, ROWS_SCHEMA, SERIES_SCHEMA, TRIALS_SCHEMA
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo

from .recorded import RUN
from .truths import MEASUREMENTS, VPNS, Figure, Truth, cycles, metrics_of, round_trips

NASTY = "<script>alert(1)</script>\"'&\u2028</script><!-- ünïcödé \U0001f6a2 =cmd|' /C calc'!A0"


@dataclass
class Run:
    """What a journal holds."""

    run: dict[str, Any]
    rows: pl.DataFrame
    trials: pl.DataFrame
    histograms: pl.DataFrame
    series: pl.DataFrame

    @property
    def data(self) -> Data:
        """The analysed run."""
        info = RunInfo.from_journal(self.run)
        return gather(info, self.rows, self.trials, self.histograms, self.series)


def make_run(
    *,
    vpns: Mapping[str, Truth] | None = None,
    blocks: int = 5,
    warmups: int = 0,
    conditions: tuple[str, ...] = ("clean",),
    measurements: tuple[tuple[str, Mapping[str, Any]], ...] = MEASUREMENTS,
    faults: bool = True,
    seed: int = 1,
    run: Mapping[str, Any] | None = None,
) -> Run:
    """Simulate a study; ``faults`` breaks a few single trials."""
    vpns = VPNS if vpns is None else vpns
    rng = np.random.default_rng(seed)
    cells = [(v, c, m, p) for v in vpns for c in conditions for m, p in measurements]
    trials: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    histograms: list[dict[str, Any]] = []
    series: list[dict[str, Any]] = []
    for block in range(1 - warmups, blocks + 1):
        for position, index in enumerate(rng.permutation(len(cells))):
            vpn, condition, measurement, parameters = cells[index]
            number = len(trials) + 1
            status, reason, remedy = vpns[vpn].broken.get(measurement, ("ok", "", ""))
            if faults and status == "ok" and number in (17, 58):
                status, reason, remedy = _FAULTS[number]
            text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
            trial = {
                "trial": number,
                "block": block,
                "position": position,
                "vpn": vpn,
                "version": vpns[vpn].version,
                "condition": condition,
                "measurement": measurement,
                "parameters": text,
                "status": status,
                "reason": reason,
                "remedy": remedy,
                "started_at": f"2026-11-20T10:{number // 60 % 60:02d}:{number % 60:02d}+00:00",
                "duration_s": 2.9 + float(rng.uniform(0, 0.3)),
                "measuring_s": 2.1,
                "evidence": json.dumps(_evidence(vpn, status, reason, remedy)),
            }
            trials.append(trial)
            common = {key: trial[key] for key in ROWS_SCHEMA if key in trial}
            common["study"] = "quick"
            found: list[Figure] = []
            if status in ("ok", "invalid"):
                truth = vpns[vpn]
                scale = 0.55 if condition == "lossy" else 1.0
                found = metrics_of(rng, vpn, truth, measurement, parameters, scale, block)
                if measurement == "rtt":
                    hdr = round_trips(rng, truth, found)
                    histograms.append(
                        {
                            "trial": number,
                            "name": "rtt_ns",
                            "unit": "ns",
                            "labels": "{}",
                            "hdr_v2": hdr,
                        }
                    )
                if measurement == "initiation":
                    series += cycles(rng, truth, number, found)
            for metric, unit, value, labels in found or [("", "", float("nan"), {})]:
                rows.append(
                    common
                    | {
                        "metric": metric or None,
                        "labels": json.dumps(labels, sort_keys=True, separators=(",", ":")),
                        "unit": unit or None,
                        "value": value if metric else None,
                    }
                )
    return Run(
        dict(RUN if run is None else run),
        pl.DataFrame(rows, schema=ROWS_SCHEMA),
        pl.DataFrame(trials, schema=TRIALS_SCHEMA),
        pl.DataFrame(histograms, schema=HISTOGRAMS_SCHEMA),
        pl.DataFrame(series, schema=SERIES_SCHEMA),
    )


def nasty_run() -> Run:
    """Every text that a study, a machine or a program can choose is hostile."""
    vpns = {
        "none": VPNS["none"],
        f"evil/{NASTY}": replace(
            VPNS["wireguard/go"],
            version=NASTY,
            processes=(NASTY,),
            broken={"udp": ("failed", NASTY, NASTY)},
        ),
    }
    run = dict(RUN) | {
        "study": NASTY,
        "title": NASTY,
        "toml": f'name = "{NASTY}"',
        "lab": NASTY,
        "environment": {NASTY: {NASTY: [NASTY, {"deep": NASTY}]}},
        "installs": [
            {"vpn": NASTY, "role": NASTY, "duration_s": 1.0, "changed": True, "version": NASTY}
        ],
    }
    return make_run(vpns=vpns, conditions=(NASTY,), run=run)


def _evidence(vpn: str, status: str, reason: str, remedy: str) -> dict[str, Any]:
    if status in ("failed", "unsupported"):
        return {}
    passed = status == "ok"
    return {
        "proved": passed,
        "underlay": {"a": _underlay((0,)), "b": _underlay((1,))},
        "vpn": {"cipher": "AES-256-GCM", "made for": vpn} if vpn != "none" else {},
        "checks": [
            {
                "name": "data path",
                "passed": True,
                "detail": f"packets are handled in user space on a, user space on b; {vpn}",
                "remedy": "",
                "figures": {"a": "user space", "b": "user space"},
            },
            {
                "name": "no clear text on the underlay (a to b)",
                "passed": passed,
                "detail": "the canary was in none of 2811 captured packets" if passed else reason,
                "remedy": remedy,
                "figures": {"searched_packets": 2811, "canary_hits": 0 if passed else 12},
            },
            {
                "name": "bytes on the link reconcile (a to b)",
                "passed": True,
                "detail": "the link carried 412,308,112 bytes; between 411,9 and 412,6 MB expected",
                "remedy": "",
                "figures": {"outer_bytes": 412308112},
            },
        ],
    }


def _underlay(cpus: tuple[int, ...]) -> dict[str, Any]:
    return {
        "cpus": list(cpus),
        "underlay": {
            "device": "u0",
            "mtu": 1500,
            "queueing": ["noqueue"],
            "offloads_on": [],
            "checksum_offload": True,
        },
        "sysctls": {"net.ipv4.tcp_congestion_control": "bbr", "net.ipv4.tcp_none": None},
    }


_FAULTS = {
    17: (
        "invalid",
        "bytes on the link do not reconcile: 212 packets went around the tunnel",
        "look at the routes: something is more specific than the tunnel's",
    ),
    58: (
        "failed",
        "the VPN's process on node b died in the middle of the trial (signal 9)",
        "see its last lines in the log; run again with --resume",
    ),
}
