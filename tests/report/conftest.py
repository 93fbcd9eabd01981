from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from culvert.report.write import write_report

from .synthetic import Run, make_run, nasty_run

Write = Callable[[Run, Path], str]


def write(run: Run, directory: Path) -> str:
    """The page's text; tables and figures are in the directory."""
    page = write_report(run.run, run.rows, run.trials, run.histograms, run.series, directory)
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("plain")
    return directory, write(make_run(), directory)


@pytest.fixture(scope="session")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("nasty")
    return directory, write(nasty_run(), directory)
