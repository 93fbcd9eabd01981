"""A step of a build says how far it is, and ends with an error that quotes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import CulvertError
from culvert.labs import building
from culvert.labs.building import run_step

STEP = """
echo one; echo two
until [ -e go-on ]; do sleep 0.01; done
echo three; exit {code}
"""


@pytest.mark.parametrize("code", [0, 7])
def test_it_says_how_many_lines_it_has_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(building, "PROGRESS_S", 0.01)
    said = []

    def progress(lines: int) -> None:
        said.append(lines)
        if lines == 2:
            (tmp_path / "go-on").touch()

    argv = ["sh", "-c", STEP.format(code=code)]
    if code:
        with pytest.raises(CulvertError, match=r"one \| two \| three"):
            run_step(argv, tmp_path, what="the step", remedy="none", progress=progress)
    else:
        run_step(argv, tmp_path, what="the step", remedy="none", progress=progress)
    assert said[-1] in (2, 3)
    assert said == sorted(said)
