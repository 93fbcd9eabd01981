"""The table of times names folders, the longest first."""

from __future__ import annotations

import pytest

from tests.times import Times, folder_of


def test_folders_of_tests() -> None:
    assert folder_of("tests/labs/hosts/deep/test_x.py::test_y[a/b]") == "tests/labs/hosts"
    assert folder_of("tests/test_x.py::test_y") == "tests"


def test_the_longest_comes_first_and_short_ones_are_left_out() -> None:
    times = Times()
    for nodeid, when, seconds in [
        ("tests/plan/test_a.py::test_a", "call", 0.1),
        ("tests/run/test_a.py::test_a", "call", 2.0),
        ("tests/labs/test_a.py::test_a", "setup", 5.0),
        ("tests/labs/test_a.py::test_a", "call", 5.0),
        ("tests/labs/test_a.py::test_b", "call", 5.0),
    ]:
        times.pytest_runtest_logreport(
            pytest.TestReport(nodeid, ("", 0, ""), {}, "passed", None, when, duration=seconds)  # type: ignore[arg-type]
        )
    assert [line.split() for line in times.lines()] == [
        ["15", "s", "2", "tests", "tests/labs"],
        ["2", "s", "1", "tests", "tests/run"],
    ]
