"""The public names: a new one is a decision, not an accident."""

from __future__ import annotations

import subprocess
import sys

import culvert


def public(thing: type) -> list[str]:
    return sorted(name for name in vars(thing) if not name.startswith("_"))


def test_the_public_names_are_listed() -> None:
    classes = ["Comparison", "CulvertError", "Run"]
    assert culvert.__all__ == [*classes, "__version__", "measure", "open"]
    assert all(getattr(culvert, name) for name in culvert.__all__)
    assert dir(culvert) == culvert.__all__  # a notebook completes names from it
    assert public(culvert.Run) == [
        *("chart", "charts", "claims", "compare", "compare_vpns", "comparisons", "directory"),
        *("metrics", "report", "study", "summary", "trials", "vpns"),
    ]
    assert public(culvert.Comparison) == ["junit", "markdown", "regressed", "table", "warnings"]


def test_each_public_name_is_documented() -> None:
    for thing in (culvert.Run, culvert.Comparison, culvert.measure, culvert.open):
        assert thing.__doc__
    for thing in (culvert.Run, culvert.Comparison):
        assert all(vars(thing)[name].__doc__ for name in public(thing))


def test_an_import_loads_no_data_frames() -> None:
    program = "import culvert, sys; print('polars' in sys.modules, 'altair' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
