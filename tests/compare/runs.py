"""Real journals with made-up figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from culvert.journal.journal import Journal
from culvert.journal.record import RunHead, TrialRecord
from culvert.plan.plan import Cell
from culvert.results import Metric, Status
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

STUDY = """
name = "made"
title = "Made up"
vpns = ["wireguard/go", "openvpn/aes-256-gcm"]
[[measurement]]
kind = "tcp"
"""

KERNEL = {"kernel": {"release": "6.1"}, "cpu": {"model": "one"}}

Values = Mapping[str, Sequence[float]]
"""VPN -> its value in block 1, 2, ..."""


def write_run(
    directory: Path,
    values: Values,
    *,
    metric: tuple[str, str] = ("goodput_bps", "bit/s"),
    text: str = STUDY,
    environment: Mapping[str, Any] | None = None,
    version: str = "1.0",
    unsupported: Mapping[str, str] | None = None,
) -> Path:
    """A run of the first measurement of a study; ``unsupported`` maps VPNs to reasons."""
    study = Study.parse(text, installed_catalogue())
    head = RunHead.of(
        study, lab="netns", culvert_version="0.1.0", environment=environment or KERNEL
    )
    one = next(iter(study.requested.values()))[0]
    blocks = max(len(series) for series in values.values())
    with Journal.create(directory, head) as journal:
        for block in range(1, blocks + 1):
            told = {vpn: series for vpn, series in values.items() if len(series) >= block}
            for position, vpn in enumerate([*told, *(unsupported or {})], start=1):
                reason = (unsupported or {}).get(vpn, "")
                figure = [] if reason else [Metric(*metric, float(values[vpn][block - 1]))]
                cell = Cell(vpn, next(iter(study.requested)), one.kind, one.parameters)
                journal.record(
                    TrialRecord(
                        block=block,
                        position=position,
                        cell_key=cell.key,
                        vpn=vpn,
                        condition=cell.condition,
                        measurement=one.kind,
                        parameters=one.parameters,
                        status=Status.UNSUPPORTED if reason else Status.OK,
                        started_at=datetime(2026, 11, 1, tzinfo=UTC),
                        duration_s=1.0,
                        measuring_s=1.0,
                        version=version,
                        reason=reason,
                        evidence=_evidence(vpn),
                        metrics=figure,
                    )
                )
        journal.finish("all blocks are measured")
    return directory


def _evidence(vpn: str) -> dict[str, Any]:
    """What the proof of a trial leaves: where the VPN handled its packets."""
    kernel = "kernel" if vpn.endswith("/kernel") else "user space"
    path = "none" if vpn == "none" else kernel
    return {"checks": [{"name": "data path", "passed": True, "figures": {"a": path, "b": path}}]}
