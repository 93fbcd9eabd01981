"""Warnings on a comparison of two runs: differing machines, a changed baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from culvert.analysis.compare.comparison import Comparison
from culvert.analysis.compare.verdict import Change
from culvert.analysis.line import line_of
from culvert.compare.side import Runs
from culvert.errors import some
from culvert.report.leaves import at
from culvert.report.run_info import RunInfo

_FACTS = (
    ("processor", ("cpu", "model")),
    ("CPUs", ("cpu", "threads")),
    ("governor", ("cpu", "frequency", "governors")),
    ("kernel", ("kernel", "release")),
    ("boot parameters", ("kernel", "parameters")),
    ("hypervisor", ("virtualisation", "hypervisor")),
    ("distribution", ("distribution", "name")),
    ("congestion control", ("network", "tcp_congestion_control")),
    ("OpenSSL", ("software", "libcrypto")),
)


def across(a: Runs, b: Runs) -> str:
    """Why speeds of the two sides are not comparable; empty if they are.

    In a guest whose speeds are not comparable with others, they are comparable with those of
    another VPN with the same data path (kernel or user space), in the same kind of guest.
    """
    every = (*a, *b)
    labels = sorted({at(side.run.environment, "not_comparable") for side in every})
    hypervisors = {at(side.run.environment, "guest", "hypervisor") for side in every}
    if not any(labels):
        return ""
    if len(hypervisors) > 1 or len(labels) > 1:
        return f"{labels[-1]}, nor with those of another machine"
    vpns = [side.vpn for side in every if side.vpn]
    paths = {vpn: path for side in every for vpn, path in side.run.data_paths.items()}
    return line_of(labels[0], paths).objection(vpns)


def warnings(a: Runs, b: Runs, found: Sequence[Comparison], *, in_run: bool) -> list[str]:
    """Warnings as sentences; ``in_run``: the sides are two VPNs of one run."""
    if in_run:
        return list(filter(None, [across(a, b)]))
    return [*_differences(a, b), *_control(found)]


def _differences(a: Runs, b: Runs) -> Iterator[str]:
    labels = {at(side.run.environment, "not_comparable") for side in (*a, *b)}
    yield from sorted(filter(None, labels))
    facts = [[_facts(side.run) for side in runs] for runs in (a, b)]
    for name in facts[0][0]:
        before, now = (sorted({run[name] for run in runs}) for runs in facts)
        if before != now or len(before) > 1:
            was, is_ = (" and ".join(one or "not known" for one in side) for side in (before, now))
            yield f"the {name} differs: {was}, then {is_}"


def _facts(run: RunInfo) -> dict[str, str]:
    found = {name: at(run.environment, *path) for name, path in _FACTS}
    return found | {"Culvert": run.culvert_version, "study": run.study, "lab": run.lab}


def _control(found: Sequence[Comparison]) -> Iterator[str]:
    moved = [one for one in found if one.control and one.change in (Change.SLOWER, Change.FASTER)]
    if moved:
        examples = some([f"{one.measurement} {one.metric} {one.change}" for one in moved])
        yield f"the link without a VPN changed ({examples}): the machine has changed"
