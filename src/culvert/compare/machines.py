"""What a reader must know before they believe a comparison of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from culvert.analysis.compare.comparison import Comparison
from culvert.analysis.compare.verdict import Change
from culvert.analysis.line import line_of
from culvert.compare.side import Side
from culvert.report.leaves import at

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


def across(a: Side, b: Side) -> str:
    """Why no metric of both sides compares; empty where they do.

    Where a guest's speeds say nothing, they compare with those of another VPN on the same side of
    the line between kernel and user space, in the same kind of guest.
    """
    labels = sorted({at(side.run.environment, "not_comparable") for side in (a, b)})
    vehicles = {at(side.run.environment, "guest", "vehicle") for side in (a, b)}
    if not any(labels):
        return ""
    if len(vehicles) > 1 or len(labels) > 1:
        return f"{labels[-1]}, nor with another machine"
    vpns = [side.vpn for side in (a, b) if side.vpn]
    paths = {**a.run.data_paths, **b.run.data_paths}
    return line_of(labels[0], paths).objection(vpns)


def warnings(a: Side, b: Side, found: Sequence[Comparison]) -> list[str]:
    """Sentences; none for two VPNs of one run."""
    if a.directory.resolve() == b.directory.resolve():
        return list(filter(None, [across(a, b)]))
    return [*_differences(a, b), *_control(found)]


def _differences(a: Side, b: Side) -> Iterator[str]:
    labels = {at(side.run.environment, "not_comparable") for side in (a, b)}
    yield from sorted(filter(None, labels))
    for name, path in _FACTS:
        before, now = at(a.run.environment, *path), at(b.run.environment, *path)
        if before != now:
            yield f"the {name} differs: {before or 'not known'}, then {now or 'not known'}"
    for name, before, now in (
        ("Culvert", a.run.culvert_version, b.run.culvert_version),
        ("study", a.run.study, b.run.study),
        ("lab", a.run.lab, b.run.lab),
    ):
        if before != now:
            yield f"the {name} differs: {before}, then {now}"


def _control(found: Sequence[Comparison]) -> Iterator[str]:
    moved = [one for one in found if one.control and one.change in (Change.SLOWER, Change.FASTER)]
    if moved:
        told = ", ".join(f"{one.measurement} {one.metric} {one.change}" for one in moved[:3]) + (
            f" and {len(moved) - 3} more" if len(moved) > 3 else ""
        )
        yield f"the link without a VPN changed ({told}): the machine is not what it was"
