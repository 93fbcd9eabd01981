"""The machine of a run: which one it is, and the facts about it that may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from culvert.report.leaves import at, leaf
from culvert.report.run_info import RunInfo

_MOMENTARY = (("load",), ("memory", "available_bytes"), ("virtualisation", "steal_ticks"))
"""Facts of a moment: they differ between any two runs."""


def machine_of(run: RunInfo) -> str:
    """The machine in a few words: processor, CPUs, architecture, hypervisor, lab.

    A journal has no name of its machine: two of equal build count as one.
    """
    environment = run.environment
    threads = at(environment, "cpu", "threads")
    parts = (
        at(environment, "cpu", "model") or "unknown processor",
        f"{threads} CPUs" if threads else "",
        at(environment, "kernel", "architecture"),
        at(environment, "virtualisation", "hypervisor"),
        f"lab {run.lab}",
    )
    return ", ".join(filter(None, parts))


def facts_of(run: RunInfo) -> dict[str, str]:
    """The environment by the path of each fact (``network.tcp_ecn``), and Culvert's version."""
    found = {".".join(path): text for path, text in _leaves(run.environment, ())}
    return found | {"Culvert": run.culvert_version}


def _leaves(
    tree: Mapping[str, Any], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in tree.items():
        here = (*path, str(name))
        if here in _MOMENTARY:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(value, here)
        else:
            yield here, leaf(value)
