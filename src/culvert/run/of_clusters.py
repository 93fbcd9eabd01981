"""Parts of a study that only a cluster has: in other labs they are expected to be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from culvert.measurements.base import Measurement
from culvert.study.study import Study
from culvert.vpns import registry

NEEDS = "it needs the lab kubernetes"
REMEDY = "run it with --lab kubernetes --cluster embedded"


def without_clusters(study: Study, measurements: Mapping[str, type[Measurement[Any]]]) -> Study:
    """The study with these parts among those that are missing."""
    lacking = study.lacking
    vpns = {
        name: f"{name}: {NEEDS}"
        for name in study.vpns
        if name not in lacking.vpns and registry.create(registry.parse(name)).variant.of_clusters
    }
    kinds = {one.kind for each in study.requested.values() for one in each}
    needing = {
        kind: f"{kind}: {NEEDS}"
        for kind in sorted(kinds)
        if kind in measurements and measurements[kind].of_clusters
    }
    if not vpns and not needing:
        return study
    found = replace(
        lacking,
        vpns={**lacking.vpns, **vpns},
        measurements={**lacking.measurements, **needing},
        remedy=REMEDY,
    )
    return replace(study, lacking=found)
