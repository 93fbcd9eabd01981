"""The authors' data with the names of the study kjorveziroski2024, so that its claims can be
judged.

The study's measurements are pod to pod. Runs to a service are separate ones (``tcp_service``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from culvert.journal.papers.kjorveziroski2024.order import IDS, recognised
from culvert.journal.readers.foreign_run import CLEAN, ForeignRun
from culvert.journal.readers.naming import plain
from culvert.results import Metric

STUDY = "kjorveziroski2024"

_API_IDS = {plain(name): vpn for name, vpn in IDS.items()}
"""Directories of the Kubernetes API responses: the same names with other numbers."""
_API_FILE = "k8s-api-benchmark-run"
_CORES = 4
"""CPUs of each node (an Intel Xeon x5647, according to the paper's table of hardware)."""


def api_recognised(runs: Sequence[ForeignRun]) -> bool:
    """Whether these are the responses of the Kubernetes API, in the authors' directories."""
    return bool(runs) and all(
        plain(run.name) in _API_IDS and run.file.rpartition("/")[2].startswith(_API_FILE)
        for run in runs
    )


def ids_of(runs: Sequence[ForeignRun]) -> Mapping[str, str]:
    """The study's ids by the data's names; empty for other data."""
    if recognised(runs):
        return IDS
    return _API_IDS if api_recognised(runs) else {}


def as_studied(runs: Sequence[ForeignRun]) -> list[ForeignRun]:
    """The runs as the study's measurements, with its metrics; other data unchanged."""
    if recognised(runs):
        return [_measured(run) for run in runs]
    if api_recognised(runs):
        return [replace(run, measurement="k8s_api", condition=CLEAN) for run in runs]
    return list(runs)


def _measured(run: ForeignRun) -> ForeignRun:
    to_service = run.parameters.get("path") == "pod2svc"
    shares = [metric.value for metric in run.metrics if metric.name == "node_cpu_percent"]
    whole = (
        [Metric("cpu_percent", "%", _CORES * (shares[0] + shares[1]))] if len(shares) == 2 else []
    )
    return replace(
        run,
        measurement=f"{run.measurement}_service" if to_service else run.measurement,
        metrics=[*run.metrics, *whole],
    )
