"""CPUs for the nodes."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import NotPossible
from culvert.study.conditions.processors import cores, split

NODES = st.sampled_from([("a", "b"), ("a", "b", "router"), ("c1", "c2", "core", "gateway")])


@given(st.integers(1, 40), st.integers(1, 2), NODES)
def test_a_split_gives_every_cpu_to_one_node(
    count: int, threads: int, nodes: tuple[str, ...]
) -> None:
    # Threads of a core are numbered far apart, as Linux does on most machines.
    machine = [tuple(core + count * thread for thread in range(threads)) for core in range(count)]
    everything = sorted(cpu for core in machine for cpu in core)
    if len(everything) < len(nodes):
        with pytest.raises(NotPossible, match="split"):
            split(machine, nodes)
        return
    shares = split(machine, nodes)
    assert tuple(shares) == nodes
    assert sorted(cpu for share in shares.values() for cpu in share) == everything
    if count >= len(nodes):
        for core in machine:
            assert sum(bool(set(core) & set(share)) for share in shares.values()) == 1
        sizes = [len(share) // threads for share in shares.values()]
        assert max(sizes) - min(sizes) <= 1


def test_this_machines_cores_are_those_that_we_may_use() -> None:
    assert {cpu for core in cores() for cpu in core} == os.sched_getaffinity(0)
