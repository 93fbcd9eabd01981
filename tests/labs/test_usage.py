from __future__ import annotations

from pathlib import Path

from culvert.labs.namespace.usage import cpu_groups, usage_of


def process(proc: Path, threads: dict[int, tuple[int, int, int]]) -> None:
    for tid, (run_ns, voluntary, involuntary) in threads.items():
        task = proc / "7" / "task" / str(tid)
        task.mkdir(parents=True)
        (task / "schedstat").write_text(f"{run_ns} 5 6\n")
        (task / "status").write_text(
            f"Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\n"
            f"nonvoluntary_ctxt_switches:\t{involuntary}\n"
        )
    (proc / "7" / "status").write_text("Name:\tx\nVmHWM:\t   1234 kB\n")


def test_threads_add_up(tmp_path: Path) -> None:
    process(tmp_path, {7: (100, 1, 2), 8: (200, 3, 4)})
    usage = usage_of(7, tmp_path)
    assert usage is not None
    assert (usage.cpu_ns, usage.voluntary_switches, usage.involuntary_switches) == (300, 4, 6)
    assert usage.peak_memory_bytes == 1234 * 1024


def test_a_process_that_has_ended_has_none(tmp_path: Path) -> None:
    assert usage_of(7, tmp_path) is None


def test_a_kernel_without_these_figures_has_none(tmp_path: Path) -> None:
    process(tmp_path, {7: (1, 1, 1)})
    (tmp_path / "7" / "task" / "7" / "schedstat").unlink()
    assert usage_of(7, tmp_path) is None


def test_groups_are_those_that_limit_processors(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "cgroup").write_text("4:memory:/m\n2:cpu,cpuacct:/a:b\n1:name=x:/y\n0::/z\n")
    assert cpu_groups(7, tmp_path) == {"cpu,cpuacct": "/a:b", "": "/z"}
    assert cpu_groups(8, tmp_path) == {}
