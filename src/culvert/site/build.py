"""Builds a site: a report per run in several processes, then the pages that lead to them.

The runs are those in directories, and bundles, which are verified first.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl

from culvert.bundle import manifest
from culvert.bundle.archive import SUFFIX
from culvert.bundle.verify import verify
from culvert.errors import CulvertError, UsageError, some
from culvert.files.target import write
from culvert.history.order import Order
from culvert.history.places import LeftOut, Place, places
from culvert.history.series import series_of
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
        found, refused = _runs_of(given, Path(unpacked))
        found = [one for one in found if out.resolve() not in one.directory.resolve().parents]
        if not found:
            raise UsageError(str(out), "it contains the runs themselves", "choose another --out")
        with _written(out):
            results = list(spread(partial(entry, out=out), found, _FEW))
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
    with _written(out):
        for name, content in pages(site):
            write(out / name, content)
    return Built(out / "index.html", len(entries), site.refused)


@contextmanager
def _written(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            str(out), f"it cannot be written: {error.strerror}", "choose another --out"
        ) from error


def _runs_of(given: Sequence[Path], unpacked: Path) -> tuple[list[Place], list[LeftOut]]:
    """The runs at or below the paths. Bundles among them are verified, and unpacked into a
    directory. Raises UsageError if no run is left."""
    folders = [one for one in given if not one.is_file()]
    refused: list[LeftOut] = []
    for number, bundle in enumerate(_bundles(given)):
        why = _problem(bundle, unpacked / f"{number:04}-{bundle.name.partition('.')[0]}")
        refused += [LeftOut(bundle, why)] if why else []
    if any(unpacked.iterdir()):
        folders.append(unpacked)
    found = []
    for place in places(folders) if folders else []:
        # A bundle that somebody unpacked: its files are as its manifest says, or it is refused.
        listed = (place.directory / manifest.NAME).exists()
        why = _problem(place.directory) if listed and place.root != unpacked else ""
        if why:
            refused.append(LeftOut(place.directory, why))
        else:
            found.append(place)
    if not found:
        why = "; ".join(f"{one.what}: {one.why}" for one in refused) or "they contain no run"
        raise UsageError(" ".join(map(str, given)), why, "give directories with runs, or bundles")
    return found, refused


def _bundles(given: Sequence[Path]) -> Iterator[Path]:
    for top in given:
        if top.is_file():
            yield top
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(folder, one) for one in sorted(names) if one.endswith(SUFFIX))


def _problem(what: Path, extract: Path | None = None) -> str:
    try:
        return some(verify(what, extract).problems)
    except CulvertError as error:
        return error.why
