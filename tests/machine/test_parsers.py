"""The parsers of /proc and /sys: known texts, and any text at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.machine.record.cpu import parse_cpu_list, parse_cpuinfo
from culvert.machine.record.kernel import (
    parse_cgroup,
    parse_parameters,
    parse_preemption,
)
from culvert.machine.record.memory import parse_meminfo, parse_steal
from culvert.machine.tree import chosen, integer

lines = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.sampled_from(
        ["processor: 0", "flags: a b", "flags:", "cpu 1 2", "cpu 1 2 3 4 5 6 7 8", "ID='x", "A="]
    ),
    max_size=8,
).map("\n".join)


@given(lines)
def test_no_text_is_an_error_and_all_results_are_json(text: str) -> None:
    processors = parse_cpuinfo(text)
    assert processors.threads >= 0
    json.dumps(
        [
            parse_parameters(text),
            parse_preemption(text),
            parse_meminfo(text),
            parse_cpu_list(text),
            chosen(text),
            integer(text),
        ],
        allow_nan=False,
    )


@given(st.sets(st.integers(0, 4095), min_size=1))
def test_a_cpu_list_gives_back_what_it_was_made_of(cpus: set[int]) -> None:
    parts: list[str] = []
    ordered = sorted(cpus)
    start = previous = ordered[0]
    for cpu in [*ordered[1:], -1]:
        if cpu != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = cpu
        previous = cpu

    assert parse_cpu_list(",".join(parts) + "\n") == tuple(ordered)


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "0-99999999999", "٣"])
def test_what_is_no_cpu_list(text: str) -> None:
    assert parse_cpu_list(text) is None


@given(st.sets(st.sampled_from("abcdefgh")), st.lists(st.sets(st.sampled_from("abcdefgh"))))
def test_a_flag_counts_only_if_every_processor_has_it(
    first: set[str], others: list[set[str]]
) -> None:
    text = "".join(f"processor : 0\nflags : {' '.join(flags)}\n" for flags in (first, *others))

    assert parse_cpuinfo(text).flags == first.intersection(*others)
    assert parse_cpuinfo(text).threads == 1 + len(others)


def test_arm_has_features() -> None:
    text = "processor : 0\nFeatures : fp asimd aes pmull\nCPU implementer : 0x41\n"

    assert parse_cpuinfo(text).flags == {"fp", "asimd", "aes", "pmull"}


@pytest.mark.parametrize(
    ("mounts", "version"),
    [
        ("", None),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", "v2"),
        ("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n", "v1"),
        (
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
            "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            "hybrid",
        ),
        ("tmpfs /cgroup2 tmpfs rw 0 0\n", None),
    ],
)
def test_the_version_of_cgroups_is_read_from_the_mounts(mounts: str, version: str | None) -> None:
    assert parse_cgroup(mounts) == version


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("always [madvise] never", "madvise"),
        ("none", "none"),
        ("always madvise", None),
        ("always defer [defer+madvise] madvise never", "defer+madvise"),
        ("none (voluntary) full", "voluntary"),
        ("", None),
        (None, None),
    ],
)
def test_the_marked_choice(text: str | None, choice: str | None) -> None:
    assert chosen(text) == choice


def test_meminfo_leaves_counts_out() -> None:
    assert parse_meminfo("MemTotal: 2 kB\nHugePages_Total: 7\n") == {"MemTotal": 2048}


def test_steal_is_the_sum_over_all_cpus() -> None:
    assert parse_steal("cpu0 1 1 1 1 1 1 1 99\ncpu  1 2 3 4 5 6 7 80 9 10\n") == 80
    assert parse_steal("cpu 1 2 3\n") is None


def test_dashes_and_underscores_are_the_same_in_parameters() -> None:
    assert parse_parameters("rcu-nocbs=1 nosmt quiet root=/dev/sda") == {
        "rcu_nocbs": "1",
        "nosmt": None,
    }
