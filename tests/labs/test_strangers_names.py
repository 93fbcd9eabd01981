"""What strangers gave names like ours survives the clean-up; what is ours does not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from culvert.errors import LabError
from culvert.labs.netns import cleanup, named
from culvert.labs.netns.cleanup import LeftoverKind
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.names import prepare_names
from culvert.labs.netns.places import NAMESPACES, namespace_path, run_directory
from culvert.machine import cgroup
from culvert.runid import new_run_id
from culvert.topology.processors import Processors
from culvert.topology.spec import LabSpec
from tests.conftest import LabFactory
from tests.labs.host import left_of

pytestmark = pytest.mark.lab


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
        assert pair.a.netns_path not in named.namespace_runs()
    link.unlink()
    link.symlink_to(right)
    assert pair.a.netns_path in named.namespace_runs()


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
