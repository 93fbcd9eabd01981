"""The measured paths of a trial: a session for each in turn, and their combined outcome."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from dataclasses import replace

from culvert.errors import NotPossible
from culvert.journal.marks import PATH
from culvert.labs.base import Lab
from culvert.probe.client import Probe
from culvert.results import Metric
from culvert.topology.graph import MEMBERS, Path, Role, Topology
from culvert.trial.outcome import Outcome
from culvert.trial.session import MaxSizes, Session
from culvert.vpns.abilities import most_members
from culvert.vpns.base import Vpn

_ALWAYS = {*Role} - MEMBERS | {Role.GATEWAY}
"""A gateway may forward in the kernel, without a process."""


def require_room(vpn: Vpn, topology: Topology) -> None:
    """Raise NotPossible if the topology has more members than the VPN supports."""
    most, count = most_members(vpn), len(topology.members)
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
    *,
    busy: Set[str] = frozenset(),
    max_sizes: MaxSizes | None = None,
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
    ends = probes[source.name], probes[target.name]
    return Session(lab, vpn, path, *ends, others, max_sizes=max_sizes or MaxSizes())


def together(outcomes: Mapping[Path, Outcome]) -> Outcome:
    """The outcome of a trial's only path is returned unchanged. For several paths: each figure with
    its path as a label, and the median over the paths without this label."""
    if len(outcomes) == 1:
        return next(iter(outcomes.values()))
    whole = Outcome([], [])
    for path, outcome in outcomes.items():
        label = {PATH: str(path)}
        whole.metrics += [
            replace(each, labels={**each.labels, **label}) for each in outcome.metrics
        ]
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
    whole.metrics += list(_middles(whole.metrics))
    return whole


def _middles(metrics: Sequence[Metric]) -> Iterator[Metric]:
    """The median over the paths of each figure."""
    figures: dict[tuple[str, str, tuple[tuple[str, str], ...]], list[float]] = defaultdict(list)
    for metric in metrics:
        labels = tuple(sorted(each for each in metric.labels.items() if each[0] != PATH))
        figures[metric.name, metric.unit, labels].append(metric.value)
    for (name, unit, labels), values in figures.items():
        yield Metric(name, unit, statistics.median(values), dict(labels))
