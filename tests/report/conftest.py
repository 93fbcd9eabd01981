from __future__ import annotations

from pathlib import Path

import pytest

from culvert.report.charts import figures, sections
from culvert.report.html.page import render
from culvert.report.html.write import write_data

from .synthetic import Run, make_run, nasty_run


def write(run: Run, directory: Path) -> str:
    """The page's text; tables and figures are in the directory."""
    return write_data(run.data, directory).read_text(encoding="utf-8")


def page_of(run: Run) -> str:
    """The page's text alone, without the drawing of figures as files."""
    data = run.data
    return render(data, sections(figures(data)))


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("plain")
    return directory, write(make_run(), directory)


@pytest.fixture(scope="session")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    directory = tmp_path_factory.mktemp("nasty")
    return directory, write(nasty_run(), directory)
