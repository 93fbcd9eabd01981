"""Builds a site: a report per run in several processes, then the pages that lead to them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from culvert.errors import UsageError
from culvert.files.folder import run_folder
from culvert.history.order import Order
from culvert.history.places import LeftOut
from culvert.history.series import series_of
from culvert.site.contributed import runs_of
from culvert.site.entry import Entry, entry
from culvert.site.pages import Site, pages
from culvert.spread import spread

_FEW = 4
"""So many reports take less time than a second process takes to start."""


@dataclass(frozen=True)
class Built:
    """``page`` is the first page; ``refused`` are the runs that are not in the site."""

    page: Path
    runs: int
    refused: tuple[LeftOut, ...]


def build(given: Sequence[Path], out: Path) -> Built:
    """Write the site of all runs and bundles at or below the paths. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="culvert-site-") as unpacked:
        places, refused = runs_of(given, Path(unpacked))
        places = [one for one in places if out.resolve() not in one.directory.resolve().parents]
        if not places:
            raise UsageError(str(out), "it contains the runs themselves", "choose another --out")
        with _written(out):
            results = list(spread(partial(entry, out=out), places, _FEW))
    refused += [result for result in results if isinstance(result, LeftOut)]
    # A run that is there twice, as a directory and as a bundle, counts once.
    apart = {one.page: one for one in reversed(results) if isinstance(one, Entry)}
    entries = list(apart.values())
    if not entries:
        raise UsageError(str(given[0]), refused[0].why, "give directories with runs, or bundles")
    entries.sort(key=lambda one: (one.started_at, one.page), reverse=True)
    runs = pl.concat(one.tables.runs for one in entries)
    cells = pl.concat(one.tables.cells for one in entries)
    series = series_of(runs, cells, Order.TIME)
    site = Site(tuple(entries), tuple(series), tuple(refused))
    with _written(out), run_folder(out, make=True) as folder:
        for name, content in pages(site):
            with folder.inside(name) as (below, last):
                below.write(last, content)
    return Built(out / "index.html", len(entries), site.refused)


@contextmanager
def _written(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            str(out), f"it cannot be written: {error.strerror}", "choose another --out"
        ) from error
