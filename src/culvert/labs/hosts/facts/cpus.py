"""The CPUs of nodes that are hosts, from a request that was computed for one machine. Pure.

The request is computed as if there were ``PER_NODE`` CPUs for each node: a study's numbers are then
those of the node's own host where it has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from culvert.errors import NotPossible

PER_NODE = 1024
"""More than a host has: a node that gets as many was given a share of everything."""

Cpus = tuple[int, ...]


def imagined(nodes: int) -> list[Cpus]:
    """The cores for which a request is computed."""
    return [(cpu,) for cpu in range(nodes * PER_NODE)]


def own_cpus(
    requested: Mapping[str, Cpus] | None, usable: Mapping[str, Cpus], boots: Mapping[str, str]
) -> dict[str, Cpus | None]:
    """CPUs by node; None: all of its host's. ``usable`` are those of its host, ``boots`` the id of
    its host's kernel: hosts with the same kernel share their CPUs.

    Raises NotPossible if a host has too few.
    """
    found: dict[str, Cpus | None] = dict.fromkeys(usable)
    for together in _by_kernel(boots):
        wanted = {node: (requested or {}).get(node) for node in together}
        for number, node in enumerate(together):
            cpus = wanted[node]
            if cpus is not None:
                found[node] = _of_node(node, number, cpus, together, wanted, usable[node])
    return found


def _by_kernel(boots: Mapping[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for node, boot in boots.items():
        groups.setdefault(boot or f"only {node}", []).append(node)
    return list(groups.values())


def _of_node(
    node: str,
    number: int,
    cpus: Cpus,
    together: Sequence[str],
    wanted: Mapping[str, Cpus | None],
    usable: Cpus,
) -> Cpus | None:
    alone = len(together) == 1
    if len(cpus) >= PER_NODE:
        return None if alone else _share(usable, number, len(together))
    if all(set(each or ()) <= set(usable) for each in wanted.values()):
        return cpus
    if alone and len(cpus) <= len(usable):
        return usable[: len(cpus)]
    needed = sum(len(each or ()) for each in wanted.values())
    raise NotPossible(
        f"{len(cpus)} CPUs for node {node}",
        f"{len(together)} nodes on its machine need {needed}, it has {len(usable)}",
        "request fewer, or measure this condition on hosts with more",
    )


def _share(usable: Cpus, number: int, count: int) -> Cpus:
    if len(usable) < count:
        raise NotPossible(
            'cpus = "split"',
            f"{count} nodes on one machine need {count} CPUs, it has {len(usable)}",
            'write cpus = "shared" in [lab]',
        )
    return usable[number * len(usable) // count : (number + 1) * len(usable) // count]
