"""The measured paths of a trial: a session for each in turn, and their combined outcome."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence, Set
from contextlib import ExitStack
from dataclasses import replace

from culvert.errors import NotPossible
from culvert.journal.record import Metric
from culvert.labs.base import Lab
from culvert.probe.client import Probe
from culvert.topology.graph import MEMBERS, Path, Role, Topology
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.vpns.base import Vpn

_ALWAYS = {*Role} - MEMBERS | {Role.GATEWAY}
"""A gateway may forward in the kernel, without a process."""
PATH = "path"
"""The label of figures measured on one of several paths."""


def require_room(vpn: Vpn, topology: Topology) -> None:
    """Raise NotPossible if the topology has more members than the VPN supports."""
    most, count = vpn.most_members(), len(topology.members)
    if most is not None and count > most:
        raise NotPossible(
            vpn.id,
            f"connects at most {most} nodes, but topology {topology.name} has {count} members",
            'use topology = "pair" or "routed" for it',
        )


def open_session(
    stack: ExitStack,
    lab: Lab,
    vpn: Vpn,
    path: Path,
    known_max_size: dict[str, int],
    *,
    busy: Set[str] = frozenset(),
) -> Session:
    """A session with a probe on both ends, on servers, routers and a gateway, and on other nodes
    with processes of the VPN, but for those that are ``busy`` with paths measured at the same time.
    The stack closes them."""
    source, target = lab.ends(path)
    probes = {node.name: stack.enter_context(Probe(node)) for node in (source, target)}
    others = {
        node.name: stack.enter_context(Probe(node))
        for node in lab.nodes.values()
        if node.name not in {*probes, *busy} and (node.role in _ALWAYS or vpn.processes[node.name])
    }
    return Session(
        lab,
        vpn,
        path,
        probes[source.name],
        probes[target.name],
        others,
        known_max_size=known_max_size,
    )


def together(outcomes: Sequence[tuple[Path, Outcome]]) -> Outcome:
    """The outcome of a single path is returned unchanged. For several paths: each figure with its
    path as a label, and the median over the paths without this label."""
    if len(outcomes) == 1:
        return outcomes[0][1]
    whole = Outcome([], [])
    figures: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[Metric]] = defaultdict(list)
    for path, outcome in outcomes:
        label = {PATH: str(path)}
        for metric in outcome.metrics:
            figures[metric.name, metric.unit, tuple(sorted(metric.labels.items()))].append(metric)
            whole.metrics.append(replace(metric, labels={**metric.labels, **label}))
        whole.watched += outcome.watched
        whole.doubts += outcome.doubts
        whole.marks += outcome.marks
        whole.withheld += [
            replace(each, reason=f"{path}: {each.reason}") for each in outcome.withheld
        ]
        whole.series += [replace(each, labels={**each.labels, **label}) for each in outcome.series]
        whole.histograms += [
            replace(each, labels={**each.labels, **label}) for each in outcome.histograms
        ]
    for metrics in figures.values():
        middle = statistics.median(metric.value for metric in metrics)
        whole.metrics.append(replace(metrics[0], value=middle))
    return whole
