"""A test that fails runs once more, alone: in a pytest of its own with two workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.guests import ROOT
from tests.outcomes import read

FEW = """
import os
from pathlib import Path
import pytest

@pytest.mark.xdist_group("tests/group.py")
def test_it_passes():
    pass

@pytest.mark.xdist_group("measuring")
@pytest.mark.parametrize("build", ["go@base", "go@head"])
def test_alone(build):
    assert "PYTEST_XDIST_WORKER" not in os.environ

def test_later():
    if not Path(__file__).with_name("installed").exists():
        pytest.skip("it is not installed")
"""
BROKEN = """
def test_broken():
    assert False
"""
MANY = """
import pytest
@pytest.mark.parametrize("number", range(6))
def test_unsteady(number):
    import os
    assert "PYTEST_XDIST_WORKER" not in os.environ
"""


def run(directory: Path, *words: str) -> tuple[int, str]:
    plugins = ["-p", "tests.outcomes", "-p", "no:cacheprovider"]
    place = ["--rootdir", str(directory), str(directory)]
    workers = ["--numprocesses", "2", "--dist", "loadgroup"]
    outside = {name: text for name, text in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "tests.twice", "-q", *plugins, *workers, *words, *place],
        cwd=ROOT,
        env=outside,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout


def test_what_passes_alone_is_named_and_the_rest_is_run_later(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(FEW)
    passed = tmp_path / "passed"
    code, said = run(tmp_path, "--passed", str(passed))
    assert code == 0, said
    assert "UNSTEADY test_it.py::test_alone[go@base]\n" in said
    assert "2 of at most 5 tests are unsteady" in said
    assert {name.partition("::")[2] for name in read(passed)} == {
        "test_it_passes",
        "test_alone[go@base]",
        "test_alone[go@head]",
    }

    (tmp_path / "installed").touch()
    code, said = run(tmp_path, "--passed", str(passed), "--rest")
    assert code == 0, said
    assert "1 passed" in said
    assert len(read(passed)) == 4


def test_what_fails_twice_is_red(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(BROKEN)
    code, said = run(tmp_path)
    assert code == 1
    assert said.count("1 failed") == 2
    assert "UNSTEADY" not in said


def test_many_that_fail_are_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(MANY)
    code, said = run(tmp_path)
    assert code == 1
    assert said.count("6 failed") == 1
