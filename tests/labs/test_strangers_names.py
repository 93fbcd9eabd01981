"""What strangers gave names like ours survives the clean-up; what is ours does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from culvert.errors import LabError
from culvert.labs.namespace import cleanup, mark, named
from culvert.labs.namespace.cleanup import LeftoverKind
from culvert.labs.namespace.names import prepare_names
from culvert.labs.namespace.places import (
    NAMESPACES,
    namespace_name,
    namespace_path,
    owner_link,
    run_directory,
)
from culvert.labs.netns.lab import NetnsLab
from culvert.machine import cgroup
from culvert.runid import new_run_id
from culvert.topology.spec import LabSpec, Processors
from tests.cli import Cli
from tests.conftest import LabFactory
from tests.labs.host import left_of

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("killing")]


def ip(*words: str) -> None:
    subprocess.run(["ip", "netns", *words], check=True, capture_output=True)


@contextmanager
def stranger(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """A namespace of that name, and a program in it."""
    prepare_names()
    ip("add", name)
    try:
        with subprocess.Popen(["ip", "netns", "exec", name, "sleep", "1000"]) as process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        ip("delete", name)


@pytest.mark.parametrize("node", ["a", "b", "pods-a", "x-9"])
def test_a_namespace_of_a_run_that_never_was_survives(node: str) -> None:
    run_id = new_run_id()
    path = namespace_path(run_id, node)
    with stranger(path.name) as process:
        inode = path.stat().st_ino
        assert not [one for one in cleanup.find_leftovers(all_runs=True) if one.run_id == run_id]
        cleanup.remove_leftovers()
        cleanup.remove_run(run_id)
        assert (path.stat().st_ino, process.poll()) == (inode, None)


def test_a_namespace_named_after_a_run_survives_its_end(lab: LabFactory) -> None:
    pair = lab()
    path = namespace_path(pair.run_id, "other")
    with stranger(path.name) as process:
        pair.close()
        assert process.poll() is None
        assert path.exists()
        assert all(path.name in trace for trace in left_of(pair.run_id))


def test_a_namespace_that_took_a_node_s_name_survives(lab: LabFactory) -> None:
    pair = lab()
    path = pair.a.netns_path
    ip("delete", path.name)
    with stranger(path.name) as process:
        inode = path.stat().st_ino
        assert path not in named.namespace_runs()
        assert pair.b.netns_path in named.namespace_runs()
        pair.close()
        assert (path.stat().st_ino, process.poll()) == (inode, None)


def test_a_name_that_is_taken_stops_the_lab_and_survives() -> None:
    made = NetnsLab(new_run_id(), LabSpec())
    path = namespace_path(made.run_id, "b")
    with stranger(path.name) as process:
        inode = path.stat().st_ino
        with pytest.raises(LabError, match=path.name):
            made.open()
        assert (path.stat().st_ino, process.poll()) == (inode, None)
        assert all(path.name in trace for trace in left_of(made.run_id))


def test_a_file_that_is_no_namespace_survives(lab: LabFactory) -> None:
    """A name that another program is about to use, and a link."""
    pair = lab()
    with ExitStack() as stack:
        for name, run_id in (("a", new_run_id()), ("other", pair.run_id)):
            path = namespace_path(run_id, name)
            path.touch()
            stack.callback(path.unlink)
        link = NAMESPACES / f"culvert-{new_run_id()}-a"
        link.symlink_to(pair.a.netns_path)
        stack.callback(link.unlink)
        found = {one.name for one in cleanup.find_leftovers(all_runs=True)}
        assert not found & {str(path), str(link)}
        pair.close()
        assert path.exists()


def test_a_record_that_is_not_ours_binds_nothing(lab: LabFactory) -> None:
    pair = lab()
    link = run_directory(pair.run_id) / "a.namespace"
    right = link.readlink()
    for wrong in ("1", "none", "../../etc/passwd", "9" * 40):
        link.unlink()
        link.symlink_to(wrong)
        assert pair.a.netns_path not in named._recorded_runs()
    link.unlink()
    link.symlink_to(right)
    assert pair.a.netns_path in named._recorded_runs()


def without_records(pair: NetnsLab) -> None:
    """As after rm -r /run/culvert: its own tmpfs stays mounted, and is empty."""
    owner_link(pair.run_id).unlink()
    for entry in run_directory(pair.run_id).iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def test_what_is_marked_is_bound_without_a_record(lab: LabFactory) -> None:
    pair = lab(LabSpec(processors=Processors(quota={"a": 0.5})))
    sleeper = pair.b.spawn(["sleep", "1000"], name="sleeper")
    without_records(pair)
    # Its owner is this process, which lives.
    assert not [one for one in cleanup.find_leftovers() if one.run_id == pair.run_id]
    found = [one for one in cleanup.find_leftovers(all_runs=True) if one.run_id == pair.run_id]
    assert [one.kind for one in found].count(LeftoverKind.NAMESPACE) == 2
    assert LeftoverKind.CGROUP in {one.kind for one in found}
    for one in found:
        cleanup.remove(one)
    assert not sleeper.alive()
    assert left_of(pair.run_id) == []
    pair.close()


def test_what_somebody_removes_is_why_the_lab_is_broken(lab: LabFactory) -> None:
    """A trial then fails by that reason, not by the first program that misses it."""
    pair = lab()
    assert pair.broken() is None
    ip("delete", pair.b.netns_path.name)
    broken = pair.broken()
    assert broken is not None
    assert broken.what == f"{pair.b.netns_path} of node b"
    assert "removed while" in broken.why
    other = lab()
    shutil.rmtree(other.a.directory)
    broken = other.broken()
    assert broken is not None
    assert broken.what == f"{other.a.directory} of node a"
    assert "removed it" in broken.remedy


def test_a_killed_run_is_found_without_its_directory(say: Cli) -> None:
    run_id = new_run_id()
    program = (
        "import time; from culvert.labs.netns.lab import NetnsLab;"
        "from culvert.topology.spec import LabSpec;"
        f"lab = NetnsLab('{run_id}', LabSpec()); lab.open(); print(flush=True); time.sleep(1000)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    owner_link(run_id).unlink()
    subprocess.run(["umount", str(run_directory(run_id))], check=True)
    run_directory(run_id).rmdir()
    said = say("clean")
    assert said.code == 0
    assert f"culvert-{run_id}-a" in said.out
    assert left_of(run_id) == []


def test_a_mark_of_another_namespace_proves_nothing(lab: LabFactory) -> None:
    """Neither a copy of one, nor one under another name."""
    pair = lab()
    real = mark.of(pair.a.netns_path)
    assert real is not None
    assert mark.of(pair.b.netns_path) != real
    for name in (namespace_name(new_run_id(), "a"), namespace_name(pair.run_id, "other")):
        with stranger(name):
            words = ("exec", name, "ip", "link", "set", "dev", "lo", "alias", str(real))
            ip(*words)
            assert mark.of(NAMESPACES / name) is None
            ip(*words[:-1], str(replace(real, node="other")))
            assert mark.of(NAMESPACES / name) is None
            assert NAMESPACES / name in named.unproved_names()
    alias = NAMESPACES / namespace_name(pair.run_id, "alias")
    alias.touch()
    subprocess.run(["mount", "--bind", pair.a.netns_path, alias], check=True)
    try:
        assert mark.of(alias) is None
    finally:
        subprocess.run(["umount", alias], check=True)
        alias.unlink()


def test_what_is_left_is_named(say: Cli) -> None:
    name = namespace_name(new_run_id(), "a")
    with stranger(name) as process:
        said = say("clean")
        assert said.code == 0
        assert f"left namespace {name}" in said.err
        assert f"ip netns delete {name}" in said.err
        assert process.poll() is None


@contextmanager
def group(name: str) -> Iterator[Path]:
    where = cgroup.hierarchy()
    if where is None or where.version == 2:
        pytest.skip("a program joins a group at once only in control groups 1")
    path = where.path / name
    path.mkdir()
    try:
        yield path
    finally:
        cgroup.remove(path)


def test_a_group_of_a_run_that_never_was_survives_with_its_programs() -> None:
    run_id = new_run_id()
    with group(f"culvert-{run_id}-a") as path, subprocess.Popen(["sleep", "1000"]) as process:
        try:
            (path / "cgroup.procs").write_text(str(process.pid))
            found = cleanup.find_leftovers(all_runs=True)
            assert not [one for one in found if one.run_id == run_id]
            cleanup.remove_leftovers()
            assert path.is_dir()
            assert process.poll() is None
        finally:
            process.kill()


def test_a_group_of_doctor_s_is_removed_only_if_nothing_runs_in_it() -> None:
    name = f"culvert-{new_run_id()}-doctor"
    with group(name) as path, subprocess.Popen(["sleep", "1000"]) as process:
        assert path in named.group_runs()
        try:
            (path / "cgroup.procs").write_text(str(process.pid))
            assert path not in named.group_runs()
        finally:
            process.kill()


def test_what_is_ours_is_bound(lab: LabFactory) -> None:
    pair = lab(LabSpec(processors=Processors(quota={"a": 0.5})))
    found = [one for one in cleanup.find_leftovers(all_runs=True) if one.run_id == pair.run_id]
    kinds = [one.kind for one in found]
    assert kinds.count(LeftoverKind.NAMESPACE) == 2
    assert kinds.count(LeftoverKind.CGROUP) == 1
