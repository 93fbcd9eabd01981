"""vpn-bench's results: TCP and UDP by iperf3, and ping, of each VPN, profile and host.

::

    DATE / Wireguard / low_impairment / 0_lom / tcp_iperf3.json
           VPN         profile          host

The profile is the condition, ``Internal`` is the link without a VPN. The hosts' runs of a cell are
its repetitions. Other files (videos, caches, timings, comparisons) are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from culvert.journal.readers import iperf3
from culvert.journal.readers.envelope import Enclosed, opened
from culvert.journal.readers.figures import MOST_S, doubt, figure, table
from culvert.journal.readers.foreign_run import CLEAN, ForeignRun, Found, judged
from culvert.journal.readers.reading import Text, read_text
from culvert.journal.readers.salvage import documents
from culvert.results import Metric
from culvert.study.vpn_id import BASELINE

_IPERF3 = {"tcp_iperf3": "tcp", "parallel_tcp_iperf3": "tcp", "udp_iperf3": "udp"}
"""Names of files, and what they measure also where they have an error only."""
_PING = "ping"
_UNIMPAIRED = "baseline"
_PROFILE = "_impairment"
_BARE = "Internal"


def read(path: Path) -> Found:
    """All runs of a file. Raises UsageError if the file cannot be read at all."""
    kind = path.name.split(".")[0]
    name, condition = _place(path)
    if not name or kind not in {*_IPERF3, _PING}:
        return Found(other=True)
    if kind == _PING:
        text = read_text(path)
        found = Found(list(_pings(text)), text.lost)
    else:
        found = iperf3.read(path)
    runs = [
        replace(
            run,
            name=name,
            condition=condition,
            measurement=_IPERF3.get(kind, run.measurement),
        )
        for run in found.runs
    ]
    return Found(runs, found.lost)


def _place(path: Path) -> tuple[str, str]:
    """VPN and condition of a file by its directories; both empty if it has no profile."""
    folders = path.absolute().parts[:-1]
    for above, profile in zip(reversed(folders[:-1]), reversed(folders[1:]), strict=True):
        if profile == _UNIMPAIRED or profile.endswith(_PROFILE):
            if above in ("comparison", "General"):
                break
            condition = CLEAN if profile == _UNIMPAIRED else profile.removesuffix(_PROFILE)
            return BASELINE if above == _BARE else above.lower(), condition
    return "", ""


def _pings(text: Text) -> Iterator[ForeignRun]:
    for document in documents(text):
        for enclosed in opened(document.value):
            if isinstance(enclosed.document, Mapping):
                yield _ping(text.file, document.line, enclosed)
            else:
                text.lose(document.line, "a document that vpn-bench did not write")


def _ping(file: str, line: int, enclosed: Enclosed) -> ForeignRun:
    """Its figures are of a few calls of ping: the least, the mean of the means, the greatest."""
    failures: list[str] = []
    doubts: list[str] = []
    metrics: list[Metric] = []
    document = enclosed.document
    if error := document.get("error"):
        failures.append(f"vpn-bench: {str(error)[:200]}")
    for key, which, name in (
        ("rtt_min_ms", "min", "min"),
        ("rtt_avg_ms", "average", "mean"),
        ("rtt_max_ms", "max", "max"),
    ):
        milliseconds = figure(table(document, key).get(which))
        if milliseconds is None:
            continue
        if why := doubt(key, milliseconds, 0, 1e3 * MOST_S, "ms"):
            doubts.append(why)
        else:
            metrics.append(Metric(f"rtt_{name}_us", "us", 1e3 * milliseconds))
    lost_percent = figure(table(document, "packet_loss_percent").get("average"))
    if lost_percent is not None:
        if why := doubt("packet_loss_percent", lost_percent, 0, 100, "%"):
            doubts.append(why)
        else:
            metrics.append(Metric("loss_ratio", "1", lost_percent / 100))
    if not metrics and not failures and not doubts:
        failures.append("it has no round trip")
    status, reason = judged(failures, doubts)
    return ForeignRun(
        file,
        line,
        measurement="rtt",
        parameters={"protocol": "icmp"},
        status=status,
        reason=reason,
        metrics=metrics,
        reported={"path": enclosed.path} if enclosed.path else {},
    )
